// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/internal/delayqueue"
	rules "github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

const (
	defaultInterval   = 30 * time.Second
	defaultMaxSources = 20000
	// readRate is how many reads a second polling aims at: with more sources, the interval grows, to slowestInterval at most.
	readRate        = 20
	slowestInterval = 5 * time.Minute
)

// Ref names a ConfigMap, Secret or SecretProviderClass.
type Ref struct {
	Kind            autorebootv1.SourceKind
	Namespace, Name string
}

// Want names a source and the part of it that an owner observes.
type Want struct {
	Ref
	// Keys whose values count; none for all of them.
	Keys []string
	// ExcludedKeys are those whose values do not count where Keys are none.
	ExcludedKeys []string
	// Certificate is the key that holds a certificate in PEM. Where it is set, the leaf certificate
	// alone counts, which is the first in the file, and Keys mean nothing.
	Certificate string
}

// State is the state of a source.
type State struct {
	// Missing means that the source does not exist.
	Missing bool
	// Fingerprint of what counts; empty where the source is missing or unknown.
	Fingerprint string
	// Written is when what counts was written last, and never earlier: where nothing says when, it is
	// when it was first seen. It is zero while unknown.
	Written time.Time
	// FirstSeen means that Written is merely when this process first saw the source, since a key may have
	// been removed at any time before, which is recorded nowhere. Then ValuesWritten is when what is there
	// now was written, or later, and zero where nothing says so.
	FirstSeen     bool
	ValuesWritten time.Time
	// Recorded is the latest write of the source that is recorded, of whatever it was; zero where none is.
	Recorded time.Time
	// Writer is the field manager that wrote what counts last; empty where nothing says so.
	Writer string
	// Created is when the source was created; zero where nothing says so. Since is when this process read first what counts as it
	// is now.
	Created, Since time.Time
	// Immutable means that it can change only by a deletion and a new creation.
	Immutable bool
	// Keys is a hash of the names of the keys that count and exist; empty while unknown.
	Keys string
	// AbsentKeys are those of Want.Keys that the source does not have, in order and with commas between them.
	AbsentKeys string
	// Version is the source's resourceVersion when that was read: what counts was written at it or
	// before. It is empty while unknown, and where the source is missing.
	Version string
	// NotAfter is when the certificate expires; zero without one.
	NotAfter time.Time
	// Marks are the annotations that decide whether the source counts. They are zero while unknown.
	Marks rules.Marks
	// Mounts are the pods that have mounted a SecretProviderClass; nil for another kind.
	Mounts *Mounts
	// Watched means that a watch shows the source to exist: its deletion would be observed.
	Watched bool
	// Unknown is why nothing else is known, as a reason of status.triggers; empty otherwise.
	Unknown string
	// Err is the cause, for the log alone: it may have details that a status must not. That of a SecretProviderClass which is
	// Forbidden or NotServed is a sentence with a remedy.
	Err error
}

// Mode is how changes are noticed.
type Mode int

const (
	// Watch watches metadata, which needs get, list and watch on ConfigMaps and Secrets.
	Watch Mode = iota
	// Poll reads what is observed again and again, which needs get alone.
	Poll
)

// Options of Sources.
type Options struct {
	// Client reads sources. Required.
	Client kubernetes.Interface
	// Metadata lists metadata live: for Select in mode Poll, and until a watch has begun. Required.
	Metadata metadata.Interface
	// Cache holds the metadata of ConfigMaps and Secrets; see ByObject. Required in mode Watch. It has pods as well, and what they
	// have mounted of SecretProviderClasses while Kinds says so.
	Cache Cache
	// Kinds has what pods have mounted in the cache. Defaults to nil: SecretProviderClasses are NotServed.
	Kinds Kinds
	// Key of fingerprints. Required.
	Key *fingerprint.Key
	// Mode is Watch, by default, or Poll.
	Mode Mode
	// Interval is the time between two notifications of an owner where nothing is watched, and of one
	// that could not read all it wants. Where nothing is watched, it is longer with more than 20 sources for each of its
	// seconds, as long as 20 reads a second take, but at most 5m. One that is longer than that stays. Defaults to 30s.
	Interval time.Duration
	// MaxSources is how many sources are observed at most. Defaults to 20000, or about 30 MB.
	MaxSources int
	// Notify is called with an owner for which something may have changed. It must not block, and may be called twice
	// for the same change. Required.
	Notify func(owner types.NamespacedName)
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Registerer of metrics. Defaults to nil: metrics are not registered.
	Registerer prometheus.Registerer
}

// Kinds is the part of workloadkinds.Watches that is needed.
type Kinds interface {
	Want(kind common.WorkloadKind, namespace string) workloadkinds.State
	LookAgain(kind common.WorkloadKind)
	SubscribeMounted(handle func(before, object client.Object), onChange func(context.Context))
}

// Sources observes sources. All methods are safe for concurrent use.
type Sources struct {
	options Options
	reader  reader
	queue   *delayqueue.Queue[types.NamespacedName]
	metrics *metrics
	// jitter returns a number from 0 to 1.
	jitter func() float64

	mu      sync.Mutex
	watched bool // events arrive
	objects map[Ref]*object
	owners  map[types.NamespacedName]*owner
	// selectorOwners are the owners with a selector, by what it selects from.
	selectorOwners map[scope]map[types.NamespacedName]struct{}
}

// New returns Sources that observe nothing yet.
func New(o Options) (*Sources, error) {
	switch {
	case o.Client == nil, o.Metadata == nil, o.Key == nil, o.Notify == nil:
		return nil, errors.New("sources: Client, Metadata, Key and Notify are required")
	case o.Mode == Watch && o.Cache == nil:
		return nil, errors.New("sources: Cache is required to watch; use Poll without one")
	}
	s := newSources(o, &apiReader{client: o.Client, metadata: o.Metadata})
	if o.Registerer != nil {
		if err := o.Registerer.Register(s.metrics); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newSources(o Options, from reader) *Sources {
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.MaxSources <= 0 {
		o.MaxSources = defaultMaxSources
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Sources{
		options: o, reader: from, jitter: rand.Float64,
		objects:        map[Ref]*object{},
		owners:         map[types.NamespacedName]*owner{},
		selectorOwners: map[scope]map[types.NamespacedName]struct{}{},
	}
	s.metrics = newMetrics(s.count)
	if s.options.Kinds != nil {
		s.watchMounts()
	}
	s.queue = delayqueue.New(delayqueue.Options[types.NamespacedName]{Workers: 1, Process: s.poll})
	return s
}

// interval is the time between two reads of a source. The lock is held.
func (s *Sources) interval() time.Duration {
	if s.watched {
		return s.options.Interval
	}
	return max(s.options.Interval, min(time.Duration(len(s.objects))*time.Second/readRate, slowestInterval))
}

// count returns how many sources of each kind are observed.
func (s *Sources) count() map[autorebootv1.SourceKind]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[autorebootv1.SourceKind]int{
		autorebootv1.SourceConfigMap: 0, autorebootv1.SourceSecret: 0, autorebootv1.SourceSecretProviderClass: 0,
	}
	for ref := range s.objects {
		counts[ref.Kind]++
	}
	return counts
}
