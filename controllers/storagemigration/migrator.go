// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package storagemigration

import (
	"context"
	"errors"
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
)

// Migrator migrates the objects of some CRDs. One replica runs it at a time.
type Migrator struct {
	Options
	metrics metrics
	limit   flowcontrol.RateLimiter
	state   map[string]*state // by CRD; of Run alone

	mu   sync.Mutex
	said map[string]string // what Status returns, by CRD
}

// state is what this process has observed of a CRD.
type state struct {
	seen  goal      // as it is
	since time.Time // and since when, by this process
	// left are objects that failed in the last pass, which came to all others; nil where there was
	// none such.
	left []string
	// walked means that a pass came to all objects and left none, so that only the CRD must still be
	// written.
	walked bool
	// began is when the first pass for the goal did, and rewritten how many objects were since.
	began     time.Time
	rewritten int
	told      string // the last thing that was logged
}

// New makes a migrator. It fails where options are missing, or metrics are taken.
func New(o Options) (*Migrator, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &Migrator{
		Options: o, state: map[string]*state{}, said: map[string]string{},
		limit: flowcontrol.NewTokenBucketRateLimiter(float32(o.Rate), max(1, o.Rate/10)),
	}
	m.metrics, err = newMetrics(o.Registerer)
	return m, err
}

// Run migrates what there is to migrate until ctx ends, and then returns nil.
func (m *Migrator) Run(ctx context.Context) error {
	for {
		pause := wait.Jitter(m.Interval, 0.2)
		for _, name := range m.Names {
			pause = min(pause, m.look(ctx, name))
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
	for name, said := range m.said {
		lines = append(lines, name+": "+said)
	}
	if len(lines) == 0 {
		return "not begun"
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// look does for one CRD what can be done now, and returns when to look again at the latest.
func (m *Migrator) look(ctx context.Context, name string) time.Duration {
	s := m.state[name]
	if s == nil {
		s = &state{}
		m.state[name] = s
	}
	said, again, err := m.advance(ctx, name, s)
	if ctx.Err() != nil {
		return m.Interval
	}
	if err != nil {
		said = err.Error()
	}
	m.mu.Lock()
	m.said[name] = said
	m.mu.Unlock()
	if s.told != said {
		s.told = said
		if err != nil {
			m.Logger.Error(err, "objects are not stored at the storage version yet", "definition", name, "retry", m.Interval.String())
		} else {
			m.Logger.Info("storage migration: "+said, "definition", name)
		}
	}
	return again
}

// advance returns what there is to say, and when to look again.
func (m *Migrator) advance(ctx context.Context, name string, s *state) (string, time.Duration, error) {
	crd, err := m.Definitions.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "not installed", m.Interval, nil
	}
	if err != nil {
		return "", m.Interval, err
	}
	g, err := goalOf(crd)
	if err != nil {
		return "", m.Interval, err
	}
	now := time.Now()
	if !g.same(s.seen) {
		*s = state{seen: g, since: now, told: s.told}
	}
	reached := recordOf(crd).reached(g)
	m.metrics.completed(g.kind, reached)
	if reached {
		return "complete", m.Interval, nil
	}
	if rest := s.since.Add(m.Settle).Sub(now); rest > 0 {
		return "waiting for the storage version to settle", min(rest, m.Interval), nil
	}
	other, err := m.deferTo(ctx, g.resource.GroupResource())
	if err != nil {
		return "", m.Interval, err
	}
	if other != "" {
		return "left to StorageVersionMigration " + other, m.Interval, nil
	}
	if err := m.Healthy(ctx); err != nil {
		return "", m.Interval, fmt.Errorf("%w: %w", errPaused, err)
	}
	return m.migrate(ctx, crd, g, s)
}

// migrate makes a pass, or goes on with one, and prunes after it.
func (m *Migrator) migrate(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, g goal, s *state) (string, time.Duration, error) {
	after, left := recordOf(crd).position(g)
	p := &pass{Migrator: m, goal: g, name: crd.Name, every: len(g.old) > 0, after: after, tally: map[result]int{}}
	if s.began.IsZero() {
		s.began = time.Now()
	}
	var err error
	switch {
	case s.walked: // all is rewritten, and only the CRD could not be written then
	case s.left != nil:
		err = p.again(ctx, s.left)
	default:
		if err = p.again(ctx, left); err == nil {
			err = p.walk(ctx)
		}
	}
	s.rewritten += p.tally[rewritten]
	if err != nil {
		m.tell(crd, corev1.EventTypeWarning, "StorageMigrationPaused", err.Error())
		return "", m.Interval, err
	}
	s.left = nil
	s.walked = len(p.left) == 0
	if len(p.left) > 0 {
		if len(p.left) <= maxLeft {
			s.left = p.left
		}
		err := fmt.Errorf("%d of the objects cannot be rewritten (%s): %w; fix or delete them", len(p.left), named(p.left), p.first)
		m.tell(crd, corev1.EventTypeWarning, "StorageMigrationFailed", err.Error())
		return "", m.Interval, err
	}
	done, err := m.prune(ctx, crd.Name, g)
	switch {
	case err != nil:
		m.tell(crd, corev1.EventTypeWarning, "StorageMigrationPaused", err.Error())
		return "", m.Interval, err
	case !done:
		s.walked = false
		return "the CRD has changed; starting again", min(time.Second, m.Interval), nil
	}
	m.metrics.completed(g.kind, true)
	if p.every || s.rewritten > 0 {
		m.tell(crd, corev1.EventTypeNormal, "StorageMigrated", fmt.Sprintf("All objects are stored at %s; this leader rewrote %d, and ended %s after it began",
			g.resource.Version, s.rewritten, time.Since(s.began).Round(time.Millisecond)))
	}
	s.walked, s.began, s.rewritten = false, time.Time{}, 0
	return "complete", m.Interval, nil
}

// named lists objects, as many as a reader takes in.
func named(keys []string) string {
	const most = 5
	slices.Sort(keys)
	if more := len(keys) - most; more > 0 {
		return strings.Join(keys[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(keys, ", ")
}

// again rewrites the objects that failed the last time.
func (p *pass) again(ctx context.Context, keys []string) error {
	var due []*metav1.PartialObjectMetadata
	for _, key := range keys {
		namespace, name, _ := strings.Cut(key, "/")
		object, err := p.objectsOf(p.goal.through[0], namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			p.left = append(p.left, key)
			p.first = errors.Join(p.first, fmt.Errorf("%s %s: %w", p.goal.kind, key, err))
		default:
			due = append(due, object)
		}
	}
	return p.objects(ctx, due)
}

func (m *Migrator) tell(crd *apiextensionsv1.CustomResourceDefinition, kind, reason, note string) {
	if m.Events == nil {
		return
	}
	const most = 1024 // the API server's limit
	if len(note) > most {
		note = strings.ToValidUTF8(note[:most], "") // not in the middle of a character
	}
	m.Events.Eventf(&corev1.ObjectReference{
		APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition", Name: crd.Name, UID: crd.UID,
	}, nil, kind, reason, "Migrate", "%s", note)
}
