// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

const (
	// busy is what the names of the objects begin with that users write meanwhile.
	busy = "busy-"
	// busyEach is how many there are of a kind: half of them are written at v1alpha1.
	busyEach = 4
	// counter is the annotation that counts the writes.
	counter = "load.example.com/writes"
	// pace is the time between two writes of one user.
	pace = 250 * time.Millisecond
)

// load is users who write all the while, one for each kind.
type load struct {
	*upgradeSuite
	stop  context.CancelFunc
	users sync.WaitGroup

	mu     sync.Mutex
	acked  map[string]int // by kind and name: the last write that the API server took
	failed int
	errors map[string]int
}

// loads makes the objects, and has users write them until ends is called.
func (s *upgradeSuite) loads() *load {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	l := &load{upgradeSuite: s, stop: stop, acked: map[string]int{}, errors: map[string]int{}}
	s.Cleanup(func() { stop(); l.users.Wait() })
	for _, k := range kinds {
		l.users.Go(func() { l.user(ctx, k) })
	}
	return l
}

// makesBusy makes the objects that are written meanwhile.
func (s *upgradeSuite) makesBusy() {
	s.Helper()
	for _, k := range kinds {
		for i := range busyEach {
			version, spec := k.busySpec(i)
			object, err := k.object(version, busyName(i), fmt.Sprintf(spec, 1))
			s.Must(err)
			_, err = s.of(k, version).Create(s.Context(), object, metav1.CreateOptions{})
			s.Must(err)
		}
	}
}

func busyName(i int) string { return busy + strconv.Itoa(i) }

func (k kind) busySpec(i int) (version, spec string) {
	if i%2 == 0 {
		return "v1alpha1", k.old
	}
	return "v1", k.new
}

// edit is what the nth write says of an object.
func (k kind) edit(i, n int) string {
	if i%2 == 0 {
		return fmt.Sprintf(k.oldEdit, n%50+1)
	}
	return fmt.Sprintf(k.newEdit, n%50+1)
}

func (l *load) user(ctx context.Context, k kind) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		i := n % busyEach
		err := l.write(ctx, k, i, n)
		l.mu.Lock()
		switch {
		case err == nil:
			l.acked[k.name+" "+busyName(i)] = n
		case ctx.Err() == nil:
			l.failed++
			l.errors[fmt.Sprintf("%.200s", err)]++
		}
		l.mu.Unlock()
	}
}

// write changes the spec and the counter in one: by a patch, or by reading and replacing.
func (l *load) write(ctx context.Context, k kind, i, n int) error {
	version, _ := k.busySpec(i)
	objects := l.of(k, version)
	var patch map[string]any
	if err := json.Unmarshal([]byte(k.edit(i, n)), &patch); err != nil {
		return err
	}
	patch["metadata"] = map[string]any{"annotations": map[string]any{counter: strconv.Itoa(n)}}
	if n%3 != 0 {
		raw, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		_, err = objects.Patch(ctx, busyName(i), types.MergePatchType, raw, metav1.PatchOptions{})
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := objects.Get(ctx, busyName(i), metav1.GetOptions{})
		if err != nil {
			return err
		}
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[counter] = strconv.Itoa(n)
		object.SetAnnotations(annotations)
		merge(object.Object, patch["spec"].(map[string]any), "spec")
		_, err = objects.Update(ctx, object, metav1.UpdateOptions{})
		return err
	})
}

// merge sets members of an object's member, one below the other.
func merge(object, with map[string]any, name string) {
	into, _ := object[name].(map[string]any)
	if into == nil {
		into = map[string]any{}
		object[name] = into
	}
	for member, value := range with {
		if deeper, ok := value.(map[string]any); ok {
			merge(into, deeper, member)
			continue
		}
		into[member] = value
	}
}

// ends stops the users, and wants every write that the API server took to be there.
func (l *load) ends() {
	l.Helper()
	l.stop()
	l.users.Wait()
	total := 0
	for _, k := range kinds {
		for i := range busyEach {
			version, _ := k.busySpec(i)
			object, err := l.of(k, version).Get(l.Context(), busyName(i), metav1.GetOptions{})
			l.Must(err)
			acked := l.acked[k.name+" "+busyName(i)]
			// A write that was not answered may have been taken nevertheless.
			n, err := strconv.Atoi(object.GetAnnotations()[counter])
			if err != nil || n < acked || acked == 0 {
				l.Errorf("%s %s has the write %d (%v), and %d was taken", k.name, object.GetName(), n, err, acked)
				continue
			}
			total += n / busyEach
			var want map[string]any
			l.Must(json.Unmarshal([]byte(k.edit(i, n)), &want))
			if !holds(object.Object["spec"], want["spec"]) {
				l.Errorf("%s %s does not have what write %d said: %v, want %v", k.name, object.GetName(), n, object.Object["spec"], want["spec"])
			}
		}
	}
	l.Logf("users made some %d writes meanwhile; %d were not answered: %v", total, l.failed, l.errors)
}

// holds says that a value has all members of another; what is left out there may have its default.
func holds(value, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		has, ok := value.(map[string]any)
		for name, member := range wanted {
			ok = ok && holds(has[name], member)
		}
		return ok
	case []any:
		has, ok := value.([]any)
		ok = ok && len(has) == len(wanted)
		for i := 0; ok && i < len(wanted); i++ {
			ok = holds(has[i], wanted[i])
		}
		return ok
	}
	return fmt.Sprint(value) == fmt.Sprint(wanted)
}
