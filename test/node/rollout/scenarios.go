// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// scenario is one thing that is done to the replicas while requests flow.
type scenario struct {
	name string
	// strict scenarios must not lose a request.
	strict bool
	// run does it once, and notes on the row what it saw.
	run func(context.Context, *environment, *Row) error
	// rounds is how often, and at least is how many requests there must be before it is over.
	rounds, atLeast int
	// namespace is where the requests' objects live.
	namespace string
}

// scenarios of a layout. The death of a leader that serves no webhooks must not lose a request.
func scenarios(o Options, l *layout) []scenario {
	suffix := " on a real node"
	if l == split {
		suffix += ", split"
	}
	all := []scenario{
		{name: "rolling update" + suffix, strict: true, run: roll, rounds: o.Rollouts, atLeast: o.Requests},
		{name: "leader's pod deleted" + suffix, strict: true, run: deleteLeader, rounds: 2},
		{name: "leader's Lease lost" + suffix, strict: true, run: takeLease, rounds: 2},
		{name: "leader's container killed" + suffix, strict: l == split, run: killLeader, rounds: 3},
	}
	if l == split {
		all = append(all,
			scenario{name: "webhook's pod deleted" + suffix, strict: true, run: deleteWebhook, rounds: 2},
			scenario{name: "webhook's container killed" + suffix, run: killWebhook, rounds: 3})
	}
	return all
}

// divide goes from the single to the split layout, as docs/guides/high-availability.md says: those that
// will serve are ready before those that serve go.
func divide(root string) func(context.Context, *environment, *Row) error {
	return func(ctx context.Context, s *environment, _ *Row) error {
		s.layout = split
		image := Repository + ":" + s.image
		if err := s.apply(ctx, root, image, "--selector=app.kubernetes.io/component=webhook"); err != nil {
			return err
		}
		if err := s.rolledOut(ctx, service); err != nil {
			return err
		}
		// Replicas and images were changed in place meanwhile, which the manifests take back.
		if err := s.apply(ctx, root, image, "--force-conflicts"); err != nil {
			return err
		}
		return s.settled(ctx)
	}
}

// roll replaces every replica: by the other image, or by the same one again.
func roll(ctx context.Context, s *environment, _ *Row) error {
	restart := s.rolls%3 == 1
	if s.rolls++; !restart {
		s.image = map[string]string{One: Two, Two: One}[s.image]
	}
	for _, p := range s.layout.parts {
		args := []string{"rollout", "restart", "deployment/" + p.name}
		if !restart {
			args = []string{"set", "image", "deployment/" + p.name, p.container + "=" + Repository + ":" + s.image}
		}
		if _, err := s.kubectl(ctx, nil, append(args, "--namespace="+framework.Namespace)...); err != nil {
			return err
		}
	}
	return s.settled(ctx)
}

// deleteLeader ends the leader in order, as the drain of a node does.
func deleteLeader(ctx context.Context, s *environment, _ *Row) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	if err := s.client.Delete(ctx, leader); err != nil {
		return fmt.Errorf("delete the leader: %w", err)
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	_, err = s.leader(ctx)
	return err
}

// takeLease gives the Lease to a holder that does not exist, as the leader finds it after it could not
// renew for too long. If its process ends, then by itself: no pod is deleted, so that only its readiness
// tells the kubelet, and through it kube-proxy, while it drains.
func takeLease(ctx context.Context, s *environment, row *Row) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	const patch = `{"spec": {"holderIdentity": "absent"}}`
	if _, err := s.kubectl(ctx, nil, "patch", "lease", name, "--namespace="+framework.Namespace, "--type=merge", "--patch="+patch); err != nil {
		return err
	}
	left := "not in the Service"
	if s.routes.leads(leader.Status.PodIP) {
		left = s.leaves(ctx, leader.Status.PodIP, orderlyEnd)
	}
	if _, err := s.leader(ctx); err != nil { // only once the Lease of the absent holder has run out
		return err
	}
	if err := s.settled(ctx); err != nil {
		return err
	}
	var pod corev1.Pod
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(leader), &pod); err != nil {
		return err
	}
	row.Notes = append(row.Notes, fmt.Sprintf("process ended %d times, %s", restarts(&pod)-restarts(leader), left))
	return nil
}

// orderlyEnd is longer than the shipped drain delay, and than the time in which the kubelet sees that a
// pod is not ready.
const orderlyEnd = 25 * time.Second

// leaves waits until the Service does not lead to an address any more, and says how long that took.
func (e *environment) leaves(ctx context.Context, address string, within time.Duration) string {
	began := time.Now()
	err := framework.Eventually(ctx, within, func(context.Context) error {
		if e.routes.leads(address) {
			return fmt.Errorf("the Service still leads to %s", address)
		}
		return nil
	})
	if err != nil {
		return fmt.Sprintf("in the Service for %.0f s and more", within.Seconds())
	}
	return fmt.Sprintf("out of the Service after %.1f s", time.Since(began).Seconds())
}

// webhook is a replica that serves webhooks.
func (e *environment) webhook(ctx context.Context) (*corev1.Pod, error) {
	var list corev1.PodList
	if err := e.client.List(ctx, &list, client.InNamespace(framework.Namespace), serving); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, errors.New("no pod serves webhooks")
	}
	return &list.Items[0], nil
}

// deleteWebhook ends a replica of the webhooks in order.
func deleteWebhook(ctx context.Context, s *environment, _ *Row) error {
	pod, err := s.webhook(ctx)
	if err != nil {
		return err
	}
	if err := s.client.Delete(ctx, pod); err != nil {
		return fmt.Errorf("delete a webhook: %w", err)
	}
	return s.settled(ctx)
}

// killWebhook kills the process of a replica that serves webhooks and does nothing else.
func killWebhook(ctx context.Context, s *environment, row *Row) error {
	pod, err := s.webhook(ctx)
	if err != nil {
		return err
	}
	return s.kill(ctx, pod, row)
}

// killLeader kills the leader's process.
func killLeader(ctx context.Context, s *environment, row *Row) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	if err := s.kill(ctx, leader, row); err != nil {
		return err
	}
	_, err = s.leader(ctx)
	return err
}

// kill kills the process of a pod, and waits until all are ready again. Nothing can announce that: where
// it serves webhooks, one new connection in three is refused until the kubelet has noticed and
// kube-proxy has followed, and the API server tries no other replica.
func (e *environment) kill(ctx context.Context, victim *corev1.Pod, row *Row) error {
	served := e.routes.leads(victim.Status.PodIP)
	killed := time.Now()
	if err := killContainer("/proc", victim.Name); err != nil {
		return err
	}
	left := "not in the Service"
	if served {
		left = e.leaves(ctx, victim.Status.PodIP, patience)
		e.blind = append(e.blind, window{killed, time.Now()})
	}
	if err := framework.Eventually(ctx, patience, func(ctx context.Context) error {
		var pod corev1.Pod
		if err := e.client.Get(ctx, client.ObjectKeyFromObject(victim), &pod); err != nil {
			return err
		}
		if !isReady(&pod) || restarts(&pod) == restarts(victim) {
			return fmt.Errorf("pod %s is not ready again", pod.Name)
		}
		return nil
	}); err != nil {
		return err
	}
	row.Notes = append(row.Notes, fmt.Sprintf("%s, ready again after %.1f s", left, time.Since(killed).Seconds()))
	return e.settled(ctx)
}

func restarts(pod *corev1.Pod) int32 {
	var n int32
	for _, s := range pod.Status.ContainerStatuses {
		n += s.RestartCount
	}
	return n
}
