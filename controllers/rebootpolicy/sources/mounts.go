// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/secretsstore"
	"github.com/fairlead-dev/fairlead/internal/workloadkinds"
)

// mount is the content of a SecretProviderClass that one pod has mounted. It is not kept.
type mount struct {
	pod types.UID
	// data are the versions of secrets by their ids.
	data map[string][]byte
	// written is when the driver wrote this last, and version the resourceVersion then or later.
	written time.Time
	version string
	// isRotated means that the versions may be others than when the pod was started.
	isRotated bool
}

// Mounts are the pods that have mounted a SecretProviderClass.
type Mounts struct{ pods map[types.UID]bool }

// Has reports whether a pod has mounted the class, and whether it was started with the versions that count.
func (m *Mounts) Has(pod types.UID) (mounted, current bool) {
	if m != nil {
		current, mounted = m.pods[pod]
	}
	return mounted, current
}

// errNotServed is a kind of source that the API server does not serve.
type errNotServed struct{ why string }

func (e errNotServed) Error() string { return e.why }

func isNotServed(err error) bool {
	_, is := errors.AsType[errNotServed](err)
	return is
}

// readMounts reads what pods have mounted of a class, from the cache.
func (s *Sources) readMounts(ctx context.Context, ref Ref) (*content, error) {
	if s.options.Kinds == nil || s.options.Cache == nil {
		return nil, errNotServed{workloadkinds.MountedSecrets.NotServed()}
	}
	kind := workloadkinds.MountedSecrets.Name()
	switch state := s.options.Kinds.Want(kind, ref.Namespace); {
	case !state.Known:
		return nil, workloadkinds.ErrUnknown
	case state.Forbidden:
		resource := secretsstore.GroupVersion.WithResource(secretsstore.Resource).GroupResource()
		return nil, apierrors.NewForbidden(resource, "", errors.New(state.Why))
	case !state.Served && !state.Unreadable:
		s.options.Kinds.LookAgain(kind)
		return nil, errNotServed{state.Why}
	case !state.Served:
		return nil, errors.New(state.Why)
	}
	var list secretsstore.SecretProviderClassPodStatusList
	if err := s.options.Cache.List(ctx, &list, client.InNamespace(ref.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	found := &content{}
	for i := range list.Items {
		if status := &list.Items[i]; status.Status.Class == ref.Name && status.Status.Mounted {
			found.mounts = append(found.mounts, s.mountOf(ctx, status))
		}
	}
	if len(found.mounts) == 0 {
		s.options.Kinds.LookAgain(kind) // they are gone with their CRD as well
		return nil, apierrors.NewNotFound(secretsstore.GroupVersion.WithResource("secretproviderclasses").GroupResource(), ref.Name)
	}
	return found, nil
}

// mountOf returns the mount that a status describes. The driver creates the status when the pod starts, and updates it when it
// rotates secrets. It also updates it when a new pod has the name of a deleted one whose status was not collected yet.
func (s *Sources) mountOf(ctx context.Context, status *secretsstore.SecretProviderClassPodStatus) mount {
	m := mount{pod: status.Pod, data: make(map[string][]byte, len(status.Status.Objects)), version: status.ResourceVersion,
		written: status.Written.Time, isRotated: status.Generation > 1}
	if m.written.IsZero() {
		m.written = status.CreationTimestamp.Time
	}
	for _, object := range status.Status.Objects {
		m.data[object.ID] = []byte(object.Version)
	}
	if m.isRotated {
		var pod corev1.Pod
		key := client.ObjectKey{Namespace: status.Namespace, Name: status.Status.PodName}
		err := s.options.Cache.Get(ctx, key, &pod, client.UnsafeDisableDeepCopy)
		m.isRotated = err != nil || pod.UID != status.Pod || !pod.CreationTimestamp.After(status.CreationTimestamp.Time) ||
			m.written.After(pod.CreationTimestamp.Add(mountTime))
	}
	return m
}

// mountTime is how long after its creation a pod mounts its volumes at the latest. The driver rotates every two minutes by
// default.
const mountTime = time.Minute

// current returns the one of several mounts whose versions count; nil where none does, since each pod has versions of its own. A
// digest is that of what counts of a mount.
//
// That is the one written last. During a rotation it has the new versions from the first pod on, and with the pods of a restart it
// still has them, so that there is one change. But of secrets that are made for each mount, as Vault does for databases, each new
// pod would be a change, and each restart the reason of the next. So where no two pods have the same versions, those count alone
// that were rotated under a running pod.
func current(mounts []mount, digest func(*mount) string) *mount {
	counts := map[string]int{}
	isShared := false
	for i := range mounts {
		d := digest(&mounts[i])
		counts[d]++
		isShared = isShared || counts[d] > 1
	}
	var latest *mount
	for i := range mounts {
		m := &mounts[i]
		if (isShared || len(mounts) == 1 || m.isRotated) && (latest == nil || m.isAfter(latest)) {
			latest = m
		}
	}
	return latest
}

// isAfter reports whether a mount was written after another one. Times are whole seconds.
func (m *mount) isAfter(other *mount) bool {
	order := m.written.Compare(other.written)
	if order == 0 {
		order, _ = resourceversion.CompareResourceVersion(m.version, other.version)
	}
	return cmp.Or(order, cmp.Compare(m.pod, other.pod)) > 0
}

// mounted returns the content that counts for a want, and which pods were started with it; nil for none.
func (s *Sources) mounted(found *content, want *Want) (*content, *Mounts) {
	digest := func(m *mount) string {
		return s.options.Key.Data((&content{data: m.data}).without(want.ExcludedKeys).data, want.Keys)
	}
	chosen := current(found.mounts, digest)
	if chosen == nil {
		return nil, nil
	}
	pods, counts := map[types.UID]bool{}, digest(chosen)
	for i := range found.mounts {
		m := &found.mounts[i]
		pods[m.pod] = digest(m) == counts && !m.isRotated
	}
	return &content{version: chosen.version, data: chosen.data, written: chosen.written}, &Mounts{pods}
}

// watchMounts has owners notified of what pods have mounted.
func (s *Sources) watchMounts() {
	s.options.Kinds.SubscribeMounted(s.handleMount, func(context.Context) { s.renewAllMounts() })
}

// handleMount notifies those that observe the class of a status. A label that was written means nothing.
func (s *Sources) handleMount(before, object client.Object) {
	status, is := object.(*secretsstore.SecretProviderClassPodStatus)
	if !is {
		return
	}
	if old, is := before.(*secretsstore.SecretProviderClassPodStatus); is && old.Generation == status.Generation && old.Pod == status.Pod {
		return
	}
	s.mu.Lock()
	owners := map[types.NamespacedName]struct{}{}
	ref := Ref{Kind: autorebootv1.SourceSecretProviderClass, Namespace: status.Namespace, Name: status.Status.Class}
	if o := s.objects[ref]; o != nil {
		o.renew(owners)
	}
	s.mu.Unlock()
	s.notify(slices.Collect(maps.Keys(owners)))
}

// renewAllMounts has every class read again, and notifies who observes one.
func (s *Sources) renewAllMounts() {
	s.mu.Lock()
	owners := map[types.NamespacedName]struct{}{}
	for ref, o := range s.objects {
		if ref.Kind == autorebootv1.SourceSecretProviderClass {
			o.renew(owners)
		}
	}
	s.mu.Unlock()
	s.notify(slices.Collect(maps.Keys(owners)))
}

// renew has a source read again whatever its version, and adds who observes it.
func (o *object) renew(owners map[types.NamespacedName]struct{}) {
	o.stale, o.eventVersion = true, ""
	for _, v := range o.views {
		maps.Copy(owners, v.owners)
	}
}
