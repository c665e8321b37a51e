// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// pause is between two writes.
	pause = 50 * time.Millisecond
	// patience is how long a client waits for a write.
	patience = time.Second
)

// member is a server of a database.
type member interface {
	at() string // its address outside
	session(context.Context) (session, error)
	fail()
	// promote makes a replica a primary. It returns once it accepts writes.
	promote()
	returnAsReplica(of member)
	returnAsPrimary()
	// checked counts the checks that it has answered.
	checked() int64
	// stored counts the writes that it has, from the first one given on.
	stored(first int64) int64
}

// switcher is a member of a database whose primary becomes a replica while it runs.
type switcher interface {
	member
	// takeOver makes a replica the primary instead of another member.
	takeOver(from member)
}

// session is a connection of a client.
type session struct {
	write func(ctx context.Context, id int64) error
	close func()
}

// switched is the target that a Service publishes from a time on.
type switched struct {
	at        time.Time
	addresses []string
}

// service follows the EndpointSlices of a Service by a watch, as kube-proxy does.
type service struct {
	mu      sync.Mutex // guards what follows
	slices  map[string][]string
	history []switched
}

func (s *suite) follow(name string) *service {
	s.Helper()
	changes, err := s.Client.Watch(s.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace(s.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: name})
	s.Must(err)
	followed := &service{slices: map[string][]string{}}
	var work sync.WaitGroup
	work.Go(func() {
		for change := range changes.ResultChan() {
			if slice, is := change.Object.(*discoveryv1.EndpointSlice); is {
				followed.note(change.Type, slice)
			}
		}
		if s.Context().Err() == nil {
			s.Error("the watch of EndpointSlices has ended")
		}
	})
	s.Cleanup(func() {
		changes.Stop()
		work.Wait()
	})
	return followed
}

func (f *service) note(kind watch.EventType, slice *discoveryv1.EndpointSlice) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ready []string
	for _, endpoint := range slice.Endpoints {
		if kind != watch.Deleted && ptr.Deref(endpoint.Conditions.Ready, true) {
			ready = append(ready, endpoint.Addresses...)
		}
	}
	f.slices[slice.Name] = ready
	var all []string
	for _, addresses := range f.slices {
		all = append(all, addresses...)
	}
	slices.Sort(all)
	if len(f.history) == 0 || !slices.Equal(f.history[len(f.history)-1].addresses, all) {
		f.history = append(f.history, switched{time.Now(), all})
	}
}

// since returns what was published at a time, and each change after it.
func (f *service) since(when time.Time) (all []switched) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, change := range slices.Backward(f.history) {
		all = append(all, change)
		if change.at.Before(when) {
			break
		}
	}
	slices.Reverse(all)
	return all
}

// published returns what is published now.
func (f *service) published() []string {
	all := f.since(time.Now())
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].addresses
}

// attempt is one write.
type attempt struct {
	id      int64
	began   time.Time
	address string // "" where nothing was published
	err     error
}

// writer writes one order after the other through a Service. It keeps its connection until a write fails.
type writer struct {
	service *service
	members map[string]member

	mu       sync.Mutex // guards what follows
	attempts []attempt
}

func (s *suite) write(to *service, members ...member) *writer {
	w := &writer{service: to, members: map[string]member{}}
	for _, m := range members {
		w.members[m.at()] = m
	}
	ctx, cancel := context.WithCancel(s.Context())
	var work sync.WaitGroup
	work.Go(func() { w.run(ctx) })
	s.Cleanup(func() {
		cancel()
		work.Wait()
	})
	return w
}

func (w *writer) run(ctx context.Context) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	var address string
	var connected *session
	for id := int64(0); ; id++ {
		select {
		case <-ctx.Done():
			if connected != nil {
				connected.close()
			}
			return
		case <-ticker.C:
		}
		a := attempt{id: id, began: time.Now()}
		if connected == nil {
			address, connected, a.err = w.connect(ctx)
		}
		a.address = address
		if a.err == nil {
			a.err = within(ctx, func(ctx context.Context) error { return connected.write(ctx, id) })
		}
		if a.err != nil && connected != nil {
			connected.close()
			connected = nil
		}
		w.mu.Lock()
		w.attempts = append(w.attempts, a)
		w.mu.Unlock()
	}
}

// connect connects to what is published.
func (w *writer) connect(ctx context.Context) (address string, connected *session, err error) {
	published := w.service.published()
	if len(published) == 0 {
		return "", nil, errors.New("no address is published")
	}
	address = published[0]
	err = within(ctx, func(ctx context.Context) error {
		s, err := w.members[address].session(ctx)
		if err == nil {
			connected = &s
		}
		return err
	})
	return address, connected, err
}

func within(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return do(ctx)
}

// since returns the writes that began at a time or later.
func (w *writer) since(when time.Time) []attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	first, _ := slices.BinarySearchFunc(w.attempts, when, func(a attempt, when time.Time) int { return a.began.Compare(when) })
	return slices.Clone(w.attempts[first:])
}

// arrives waits for a write at a member that began at a time or later, and returns it.
func (s *suite) arrives(w *writer, at member, since time.Time) (first attempt) {
	s.Helper()
	s.Eventually(func() error {
		all := w.since(since)
		for _, a := range all {
			if a.err == nil && a.address == at.at() {
				first = a
				return nil
			}
		}
		return fmt.Errorf("no write at %s yet: %d attempts, the last ones %v", at.at(), len(all), all[max(0, len(all)-3):])
	})
	return first
}
