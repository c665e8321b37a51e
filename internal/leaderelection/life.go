// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// lifeDurationSeconds is the leaseDurationSeconds of a Lease for life: 68 years. A replica that elects by renewal thus
// never acquires such a Lease. Both modes exclude each other while the mode of the replicas changes.
const lifeDurationSeconds = math.MaxInt32

// Life is the Pod that this replica runs in.
type Life struct {
	// Pods is the client for Pods. It reads the namespace of the Lease, which must be that of the Pod: an owner is always
	// in the same namespace.
	Pods corev1client.PodsGetter
	// Pod is the name of the Pod that this process runs in.
	Pod string
	// UID is the UID of the Pod. Defaults to the UID of the Pod that has the name now.
	UID types.UID
}

// remedy is the advice to a user if there is no Pod.
const remedy = "leadership for life goes with the Pod: run as one, with POD_NAME, POD_NAMESPACE and POD_UID from its fields, or set leaderElection.mode: lease"

// errPodGone means that this replica's own Pod no longer exists, such as after a forced deletion. Other replicas then
// assume that the process has ended.
var errPodGone = errors.New("this replica's own Pod is gone")

// FindPod finds this replica's Pod in the mode for life, and does nothing otherwise. Call it before the election. It
// retries while the API server is unavailable, until ctx ends. A missing Pod is an error: the Lease would never be
// released.
func (l *Lock) FindPod(ctx context.Context) error {
	if l.options.Life == nil {
		return nil
	}
	life, name := l.options.Life, l.options.Namespace+"/"+l.options.Life.Pod
	err := wait.PollUntilContextCancel(ctx, l.options.RetryPeriod, true, func(ctx context.Context) (bool, error) {
		pod, err := l.getPod(ctx, life.Pod)
		switch {
		case err != nil:
			l.options.Logger.Error(err, "cannot read this replica's own Pod; retrying",
				"pod", name, "period", l.options.RetryPeriod)
			return false, nil
		case pod == nil:
			return false, fmt.Errorf("election for life: there is no Pod %s; %s, and a Lease in the Pod's own namespace", name, remedy)
		case life.UID != "" && life.UID != pod.UID:
			return false, fmt.Errorf("election for life: Pod %s is another one by now: "+
				"this process belongs to one that was deleted", name)
		}
		l.self = &metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
		return true, nil
	})
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// getPod reads a Pod from the API server, not from a cache. It returns nil if there is none.
func (l *Lock) getPod(ctx context.Context, name string) (*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, l.options.RenewDeadline/2)
	defer cancel()
	pod, err := l.options.Life.Pods.Pods(l.options.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apistatus.IsAbsent(err, corev1.Resource("pods"), name) {
		return nil, nil
	}
	return pod, err
}

// isPod reports whether an owner is a Pod.
func isPod(owner metav1.OwnerReference) bool { return owner.APIVersion == "v1" && owner.Kind == "Pod" }

// hasEnded reports whether a Pod is gone or in a final phase. The kubelet sets such a phase when the containers have
// ended.
func (l *Lock) hasEnded(ctx context.Context, owner metav1.OwnerReference) (bool, error) {
	pod, err := l.getPod(ctx, owner.Name)
	if err != nil {
		return false, fmt.Errorf("read Pod %s/%s, which leads: %w", l.options.Namespace, owner.Name, err)
	}
	return pod == nil || pod.UID != owner.UID || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded, nil
}

// judgeOwner clears the holder of the record if the Pod that owns the Lease has ended. It does so as well if that Pod
// is this replica's own: its container was restarted. The garbage collector deletes the Lease with its Pod.
func (l *Lock) judgeOwner(ctx context.Context, record *resourcelock.LeaderElectionRecord) error {
	at := slices.IndexFunc(l.seen.OwnerReferences, isPod)
	if at < 0 { // released, or held by a replica that elects by renewal
		return nil
	}
	owner := l.seen.OwnerReferences[at]
	ended, err := owner.UID == l.self.UID, error(nil)
	if !ended {
		ended, err = l.hasEnded(ctx, owner)
	}
	if ended {
		record.HolderIdentity = ""
	}
	return err
}

// confirm checks whether the Lease is still this replica's. If the Lease was deleted, it creates it again while the Pod
// exists: candidates read the Pod before they take the Lease. If the Lease cannot be read, nothing changes.
func (l *Lock) confirm(ctx context.Context, record resourcelock.LeaderElectionRecord) {
	l.sent = l.options.Elapsed()
	if _, _, err := l.Get(ctx); err == nil || l.stored != nil {
		return
	}
	switch ended, err := l.hasEnded(ctx, *l.self); {
	case err != nil:
		l.options.Logger.Error(err, "the Lease was deleted, and is not made again before this replica's Pod can be read",
			"lease", l.Describe())
	case ended:
		l.lose(errPodGone)
	default:
		_ = l.Create(ctx, record) // a failure is repaired by the next call
	}
}
