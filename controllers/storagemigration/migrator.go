// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/fairlead-dev/fairlead/api/common"
)

// Migrator migrates the objects of some CRDs. One replica runs it at a time.
type Migrator struct {
	options    Options
	metrics    metrics
	limit      flowcontrol.RateLimiter
	migrations map[string]*migration // by CRD; of Run alone

	mu     sync.Mutex
	status map[string]string // what Status returns, by CRD
}

// migration is what this process knows of the migration of one kind. The next leader begins again: to write an object
// that is stored as it should be changes nothing.
type migration struct {
	goal  goal
	since time.Time // when this process first saw the goal

	after  string // the last object that the walk under way came to, as namespace/name
	walked bool   // the walk came to all objects
	// failed are the objects that could not be rewritten, maxFailed+1 at most, and failure is the first error.
	failed  []string
	failure error

	retries   int       // since the last time that it went well
	began     time.Time // when the first walk did; zero before
	rewritten int       // objects, since then
	logged    string    // the last status that was logged
}

// New returns a Migrator. It fails where options are missing, or metrics are taken.
func New(o Options) (*Migrator, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Migrator{
		options: o, migrations: map[string]*migration{}, status: map[string]string{},
		limit: flowcontrol.NewTokenBucketRateLimiter(float32(o.Rate), max(1, o.Rate/10)),
	}
	m.metrics, err = newMetrics(o.Registerer)
	return m, err
}

// Run migrates what there is to migrate until ctx ends, and then returns nil.
func (m *Migrator) Run(ctx context.Context) error {
	for {
		pause := wait.Jitter(m.options.Interval, 0.2)
		for _, name := range m.options.Names {
			pause = min(pause, m.reconcile(ctx, name))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Status returns in a few words how far each migration is.
func (m *Migrator) Status() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines []string
	for name, status := range m.status {
		lines = append(lines, name+": "+status)
	}
	if len(lines) == 0 {
		return "not begun"
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// reconcile does for one CRD what can be done now, and returns after what time to do it again at the latest.
func (m *Migrator) reconcile(ctx context.Context, name string) time.Duration {
	s := m.migrations[name]
	if s == nil {
		s = &migration{}
		m.migrations[name] = s
	}
	status, after, err := m.advance(ctx, name, s)
	if ctx.Err() != nil {
		return m.options.Interval
	}
	if err != nil {
		status, after = err.Error(), min(minRetry<<min(s.retries, 16), m.options.Interval)
		s.retries++
	} else {
		s.retries = 0
	}
	m.mu.Lock()
	m.status[name] = status
	m.mu.Unlock()
	if s.logged != status {
		s.logged = status
		if err != nil {
			m.options.Logger.Error(err, "objects are not stored at the storage version yet", "definition", name, "retry", after.String())
		} else {
			m.options.Logger.Info("storage migration: "+status, "definition", name)
		}
	}
	return after
}

// advance returns the status of a migration, and after what time to go on.
func (m *Migrator) advance(ctx context.Context, name string, s *migration) (string, time.Duration, error) {
	crd, err := m.options.Definitions.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "not installed", m.options.Interval, nil
	}
	if err != nil {
		return "", 0, err
	}
	g, err := goalOf(crd)
	if err != nil {
		return "", 0, err
	}
	if !g.same(s.goal) {
		*s = migration{goal: g, since: time.Now(), retries: s.retries, logged: s.logged}
	}
	reached := g.reached(crd)
	m.metrics.completed(g.kind, reached)
	if reached {
		return "complete", m.options.Interval, nil
	}
	if rest := m.options.Settle - time.Since(s.since); rest > 0 {
		return "waiting for the storage version to settle", min(rest, m.options.Interval), nil
	}
	if s.began.IsZero() {
		s.began = time.Now()
	}
	if err := (&pass{Migrator: m, migration: s, every: len(g.old) > 0}).run(ctx); err != nil {
		m.record(crd, corev1.EventTypeWarning, "StorageMigrationPaused", err.Error())
		return "", 0, err
	}
	if len(s.failed) > 0 {
		if s.failure == nil {
			return "trying again the objects that could not be rewritten", min(minRetry, m.options.Interval), nil
		}
		err := fmt.Errorf("%d of the objects cannot be rewritten (%s): %w; fix or delete them", len(s.failed), abbreviated(s.failed), s.failure)
		m.record(crd, corev1.EventTypeWarning, "StorageMigrationFailed", err.Error())
		return "", 0, err
	}
	switch pruned, err := m.prune(ctx, name, g); {
	case err != nil:
		m.record(crd, corev1.EventTypeWarning, "StorageMigrationPaused", err.Error())
		return "", 0, err
	case !pruned:
		*s = migration{logged: s.logged}
		return "the CRD has changed; starting again", min(time.Second, m.options.Interval), nil
	}
	m.metrics.completed(g.kind, true)
	if len(g.old) > 0 || s.rewritten > 0 {
		m.record(crd, corev1.EventTypeNormal, "StorageMigrated", fmt.Sprintf("All objects are stored at %s; this leader rewrote %d, and ended %s after it began",
			g.resource.Version, s.rewritten, common.DurationOf(time.Since(s.began))))
	}
	*s = migration{goal: g, since: s.since, logged: s.logged}
	return "complete", m.options.Interval, nil
}

// abbreviated lists objects, as many as a reader takes in.
func abbreviated(keys []string) string {
	const most = 5
	keys = slices.Sorted(slices.Values(keys))
	if more := len(keys) - most; more > 0 {
		return strings.Join(keys[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(keys, ", ")
}

// record records an Event on a CRD.
func (m *Migrator) record(crd *apiextensionsv1.CustomResourceDefinition, kind, reason, note string) {
	if m.options.Events == nil {
		return
	}
	m.options.Events.Eventf(&corev1.ObjectReference{
		APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition", Name: crd.Name, UID: crd.UID,
	}, nil, kind, reason, "Migrate", "%s", note)
}
