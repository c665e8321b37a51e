// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/internal/text"
)

const (
	// window is the time in which one Event of a reason on an object is enough.
	window = 10 * time.Minute
	// queueSize bounds the Events that wait to be written.
	queueSize = 64
	// maxRecent bounds the memory of what was recorded in a window.
	maxRecent = 1024
	// burst and perSecond bound what is written: clients of the webhooks can make them fail.
	burst     = 20
	perSecond = 0.2
	// writeTimeout bounds one write.
	writeTimeout = 5 * time.Second
)

// Options of a Recorder.
type Options struct {
	// Client writes Events. Required.
	Client eventsv1client.EventsGetter
	// Instance names this replica in the Events. Required by the API server.
	Instance string
	// Clock defaults to the real clock.
	Clock clock.PassiveClock
	// Logger logs Events that could not be written. Defaults to logr.Discard().
	Logger logr.Logger
	// Registerer registers the metric. Defaults to nil.
	Registerer prometheus.Registerer
}

// Recorder writes the Events that it is given, one after another.
type Recorder struct {
	options Options
	queue   chan Event
	limiter flowcontrol.RateLimiter
	counts  *prometheus.CounterVec

	mu     sync.Mutex
	recent map[dedupeKey]struct{} // recorded in this window
	until  time.Time              // the end of it
}

// New returns a Recorder. Nothing is written before Run.
func New(o Options) (*Recorder, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	n := &Recorder{
		options: o, queue: make(chan Event, queueSize), recent: map[dedupeKey]struct{}{},
		limiter: flowcontrol.NewTokenBucketRateLimiter(perSecond, burst),
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "fairlead_events_total",
			Help: "Events about stored objects that are broken: written, there already by another replica, dropped since there were too many, or failed.",
		}, []string{"result"}),
	}
	if o.Registerer != nil {
		if err := o.Registerer.Register(n.counts); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// Record queues an Event. It never blocks: an Event is dropped where the queue is full, or one of its reason
// on its object was recorded in this window.
func (r *Recorder) Record(notice Event) {
	if (notice.Regarding.Namespace == "") != notice.ClusterScoped || notice.Regarding.Name == "" || !r.isNew(notice.dedupeKey()) {
		return
	}
	select {
	case r.queue <- notice:
	default:
		r.counts.WithLabelValues("dropped").Inc()
	}
}

// isNew reports whether nothing with the key was recorded in this window.
func (r *Recorder) isNew(m dedupeKey) bool {
	now := r.options.Clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !now.Before(r.until) {
		clear(r.recent)
		r.until = now.Truncate(window).Add(window)
	}
	if _, recorded := r.recent[m]; recorded {
		return false
	}
	if len(r.recent) >= maxRecent {
		r.counts.WithLabelValues("dropped").Inc()
		return false
	}
	r.recent[m] = struct{}{}
	return true
}

// Run writes Events until ctx ends.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case notice := <-r.queue:
			if r.limiter.Wait(ctx) == nil {
				r.write(ctx, notice)
			}
		}
	}
}

func (r *Recorder) write(ctx context.Context, notice Event) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	event := notice.object(r.options.Instance, r.options.Clock.Now(), window)
	_, err := r.options.Client.Events(notice.namespace()).Create(ctx, event, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.counts.WithLabelValues("written").Inc()
	case apierrors.IsAlreadyExists(err):
		r.counts.WithLabelValues("present").Inc()
	default:
		r.counts.WithLabelValues("failed").Inc()
		r.options.Logger.Info("An Event could not be written", "kind", notice.Regarding.Kind, "namespace", notice.Regarding.Namespace,
			"name", notice.Regarding.Name, "reason", notice.Reason, "error", err.Error())
	}
}

// Limits of the API server on an Event, in bytes.
const (
	maxInstance = 128
	maxNote     = 1024
)

// Event is the content of an Event. It must hold no values of an object.
type Event struct {
	// Regarding is the object, with a name, and with a namespace unless ClusterScoped is set.
	Regarding corev1.ObjectReference
	// ClusterScoped puts the Event into the namespace "default", as the API server demands.
	ClusterScoped bool
	// Reason and Action are in CamelCase, Note is a sentence.
	Reason, Action, Note string
	// PerNote makes an Event of its own of each Note of a reason, such as where the note is a mistake that was made instead
	// of another one. By default the first note of a window is the only one.
	PerNote bool
}

// dedupeKey identifies equal Events. One of them is enough in a window.
type dedupeKey struct {
	kind, namespace, name, uid, reason, note string
}

func (e *Event) dedupeKey() dedupeKey {
	r := e.Regarding
	key := dedupeKey{kind: r.Kind, namespace: r.Namespace, name: r.Name, uid: string(r.UID), reason: e.Reason}
	if e.PerNote {
		key.note = e.Note
	}
	return key
}

// namespace is the namespace of the Event.
func (e *Event) namespace() string { return cmp.Or(e.Regarding.Namespace, metav1.NamespaceDefault) }

// object is the Event, named after its dedupeKey and the window.
func (e *Event) object(instance string, at time.Time, window time.Duration) *eventsv1.Event {
	m := e.dedupeKey()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d", []string{m.kind, m.namespace, m.name, m.uid, m.reason, m.note}, at.Truncate(window).Unix()))
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: e.namespace(), Name: strings.ToLower(m.kind) + "." + hex.EncodeToString(sum[:12]),
		},
		EventTime:           metav1.NewMicroTime(at),
		ReportingController: "fairlead.dev/manager",
		ReportingInstance:   text.Truncate(instance, maxInstance),
		Action:              e.Action,
		Reason:              e.Reason,
		Note:                text.Truncate(e.Note, maxNote),
		Type:                corev1.EventTypeWarning,
		Regarding:           e.Regarding,
	}
}
