// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/internal/secretsstore"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

var (
	noon = time.Date(2026, time.November, 27, 12, 0, 0, 0, time.UTC)
	key  = func() *fingerprint.Key { made, _ := fingerprint.NewKey(make([]byte, fingerprint.Size)); return made }()
)

func versionOf(m *mount) string { return string(m.data["v"]) }

// store is an external store, and the pods that mount one version of it after another.
type store struct {
	mounts []mount
	writes int
}

// write writes the status of a pod, as the one of a new pod or over the one that is there.
func (s *store) write(pod int, version string, isRotated bool) {
	s.writes++
	m := mount{pod: types.UID(fmt.Sprint("pod-", s.writes)), data: map[string][]byte{"v": []byte(version)},
		written: noon.Add(time.Duration(s.writes/3) * time.Second), version: strconv.Itoa(s.writes), isRotated: isRotated}
	if pod < len(s.mounts) {
		if isRotated {
			m.pod = s.mounts[pod].pod
		}
		s.mounts[pod] = m
		return
	}
	s.mounts = append(s.mounts, m)
}

func (s *store) counts(t *rapid.T) string {
	shuffled := rapid.Permutation(s.mounts).Draw(t, "order")
	found := current(shuffled, versionOf)
	if again := current(s.mounts, versionOf); (found == nil) != (again == nil) || found != nil && found.pod != again.pod {
		t.Fatalf("the order of a list decides: %+v, %+v", found, again)
	}
	if found == nil {
		return ""
	}
	return versionOf(found)
}

// However pods are rotated and replaced after the store has another version, that one counts from the first on, and for good.
func TestARotationIsOneChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &store{}
		n := rapid.IntRange(1, 4).Draw(t, "pods")
		for pod := range n {
			s.write(pod, "v1", false)
		}
		if got := s.counts(t); got != "v1" {
			t.Fatalf("at first %q", got)
		}
		for i, pod := range rapid.Permutation(slices.Collect(count(n))).Draw(t, "pods in turn") {
			// Without a rotation of its status, one new pod beside one old one says nothing yet.
			s.write(pod, "v2", rapid.Bool().Draw(t, "rotated"))
			if got := s.counts(t); got != "v2" && (got != "" || n > 2 || i > 0) {
				t.Fatalf("after %d of %d: %q of %+v", i+1, n, got, s.mounts)
			}
		}
		for range rapid.IntRange(0, 6).Draw(t, "pods of restarts") {
			s.write(rapid.IntRange(0, len(s.mounts)).Draw(t, "pod"), "v2", false)
			if got := s.counts(t); got != "v2" {
				t.Fatalf("a new pod makes %q of v2", got)
			}
		}
	})
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// Where each pod mounts versions of its own, no new pod is a change: a restart would be the reason of the next.
func TestVersionsOfEachPodCountOnlyOnceTheyAreRotated(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &store{}
		for range rapid.IntRange(2, 5).Draw(t, "pods") {
			s.write(len(s.mounts), fmt.Sprint("own-", s.writes), false)
		}
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			pod := rapid.IntRange(0, len(s.mounts)-1).Draw(t, "pod")
			s.write(pod, fmt.Sprint("own-", s.writes), rapid.IntRange(0, 3).Draw(t, "rotated") == 0)
			want, at := "", -1
			for i := range s.mounts {
				if number, _ := strconv.Atoi(s.mounts[i].version); s.mounts[i].isRotated && number > at {
					want, at = versionOf(&s.mounts[i]), number
				}
			}
			if got := s.counts(t); got != want {
				t.Fatalf("%q counts, want %q, which was rotated last, of %+v", got, want, s.mounts)
			}
		}
	})
}

// mountCache has pods and statuses.
type mountCache struct {
	Cache
	pods     []corev1.Pod
	statuses []secretsstore.SecretProviderClassPodStatus
}

func (c *mountCache) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for i := range c.pods {
		if pod, is := into.(*corev1.Pod); is && client.ObjectKeyFromObject(&c.pods[i]) == key {
			*pod = c.pods[i]
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
}

func (c *mountCache) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	list, is := into.(*secretsstore.SecretProviderClassPodStatusList)
	if !is {
		return errors.New("another kind")
	}
	list.Items = c.statuses
	return nil
}

// mountKinds has a state of statuses that a test sets.
type mountKinds struct {
	state    workloadkinds.State
	handle   func(before, object client.Object)
	onChange func(context.Context)
	looks    int
}

func (k *mountKinds) Want(common.WorkloadKind, string) workloadkinds.State { return k.state }
func (k *mountKinds) LookAgain(common.WorkloadKind)                        { k.looks++ }

func (k *mountKinds) SubscribeMounted(handle func(before, object client.Object), onChange func(context.Context)) {
	k.handle, k.onChange = handle, onChange
}

func statusOf(pod, class, version string, generation int64) secretsstore.SecretProviderClassPodStatus {
	return secretsstore.SecretProviderClassPodStatus{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: pod + "-shop-" + class, Generation: generation, ResourceVersion: "7",
			CreationTimestamp: metav1.NewTime(noon)},
		Pod: types.UID("uid-" + pod), Written: metav1.NewTime(noon.Add(time.Duration(generation) * time.Hour)),
		Status: secretsstore.Status{PodName: pod, Class: class, Mounted: true, Objects: []secretsstore.Object{{ID: "kv/a", Version: version}}},
	}
}

func TestAClassIsReadFromItsStatuses(t *testing.T) {
	t.Parallel()
	kinds := &mountKinds{}
	cached := &mountCache{}
	notified := 0
	s := newSources(Options{Key: key, Cache: cached, Kinds: kinds, Mode: Poll, Now: func() time.Time { return noon },
		Notify: func(types.NamespacedName) { notified++ }}, nil)
	policy := types.NamespacedName{Namespace: "shop", Name: "p"}
	want := []Want{{Ref: Ref{Kind: autorebootv1.SourceSecretProviderClass, Namespace: "shop", Name: "vault"}}}
	observe := func() State {
		t.Helper()
		states, err := s.Observe(t.Context(), policy, want)
		if err != nil {
			t.Fatal(err)
		}
		return states[0]
	}
	set := func(state workloadkinds.State) { kinds.state = state; kinds.onChange(t.Context()) }
	if got := observe(); got.Unknown != autorebootv1.ReasonUnreadable {
		t.Errorf("before it is known whether they are served: %+v", got)
	}
	set(workloadkinds.State{Known: true, Why: "install it"})
	if got := observe(); got.Unknown != autorebootv1.ReasonNotServed || got.Err.Error() != "install it" || kinds.looks == 0 {
		t.Errorf("not served: %+v, looked %d times", got, kinds.looks)
	}
	set(workloadkinds.State{Known: true, Unreadable: true, Forbidden: true, Why: "grant it"})
	if got := observe(); got.Unknown != autorebootv1.ReasonForbidden {
		t.Errorf("forbidden: %+v", got)
	}
	set(workloadkinds.State{Known: true, Served: true})
	if got := observe(); !got.Missing || got.Unknown != "" {
		t.Errorf("mounted by no pod: %+v", got)
	}
	if notified != 3 {
		t.Errorf("notified %d times of what is served", notified)
	}

	add := func(status secretsstore.SecretProviderClassPodStatus) {
		cached.statuses = append(cached.statuses, status)
		kinds.handle(nil, &status)
	}
	add(statusOf("web-1", "vault", "1", 1))
	first := observe()
	if first.Fingerprint == "" || !first.Written.Equal(noon.Add(time.Hour)) || first.Version != "7" {
		t.Errorf("mounted by one pod: %+v", first)
	}
	add(statusOf("api-1", "other", "9", 1))
	add(statusOf("web-2", "vault", "1", 1))
	add(statusOf("web-3", "vault", "1", 1))
	if mounted, current := observe().Mounts.Has("uid-web-2"); !mounted || !current {
		t.Error("web-2 was not started with what counts")
	}
	if mounted, _ := observe().Mounts.Has("uid-api-1"); mounted {
		t.Error("a pod of another class counts")
	}

	rotated := statusOf("web-1", "vault", "2", 2)
	before := cached.statuses[0]
	cached.statuses[0] = rotated
	seen := notified
	labeled := before
	kinds.handle(&before, &labeled)
	if notified != seen || observe().Fingerprint != first.Fingerprint {
		t.Error("a label of a status has the class read again")
	}
	kinds.handle(&before, &rotated)
	second := observe()
	mounted, current := second.Mounts.Has("uid-web-1")
	if notified != seen+1 || second.Fingerprint == first.Fingerprint || !mounted || current {
		t.Errorf("a rotation: %+v, started with it: %v", second, current)
	}

	// A StatefulSet has recreated web-1 before the status of the deleted pod was collected: nothing was rotated under it.
	cached.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid-web-1", CreationTimestamp: metav1.NewTime(noon.Add(2*time.Hour - time.Second))}}}
	kinds.handle(nil, &rotated)
	if _, current := observe().Mounts.Has("uid-web-1"); !current {
		t.Error("a pod that was made again counts as rotated")
	}
	cached.statuses = nil
	kinds.handle(nil, &rotated)
	if got := observe(); !got.Missing {
		t.Errorf("without pods: %+v", got)
	}
}

func TestKeysOfAClassAreIdsOfItsObjects(t *testing.T) {
	t.Parallel()
	s := &Sources{options: Options{Key: key}}
	of := func(a, b string) *content {
		return &content{mounts: []mount{{pod: "p", data: map[string][]byte{"kv/a": []byte(a), "b": []byte(b)}, written: noon, version: "1"}}}
	}
	ref := Ref{Kind: autorebootv1.SourceSecretProviderClass, Namespace: "shop", Name: "vault"}
	sum := func(c *content, w Want) string {
		w.Ref = ref
		return s.evaluate(c, map[viewKey]Want{"": w})[""].state.Fingerprint
	}
	for name, w := range map[string]Want{"keys": {Keys: []string{"kv/a"}}, "excluded": {ExcludedKeys: []string{"b"}}} {
		if sum(of("1", "1"), w) != sum(of("1", "2"), w) || sum(of("1", "1"), w) == sum(of("2", "1"), w) {
			t.Errorf("%s: what is left out counts, or nothing does", name)
		}
	}
	if sum(of("1", "1"), Want{}) == sum(of("1", "2"), Want{}) {
		t.Error("an object does not count")
	}
}
