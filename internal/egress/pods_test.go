// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
	"pgregory.net/rapid"
)

func podWith(name string, phase corev1.PodPhase, ips ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: name, UID: types.UID(name)}}
	pod.Status.Phase = phase
	for i, ip := range ips {
		if i == 0 {
			pod.Status.PodIP = ip
		}
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
	}
	return pod
}

// nodesWithout are nodes in whose network an address management of its own gives pods their addresses.
func nodesWithout() []kruntime.Object {
	all := objects()
	all[0] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: "10.0.0.11"}}}}
	return all
}

func TestAnAddressThatAPodHasIsTheClusters(t *testing.T) {
	client := fake.NewClientset(append(nodesWithout(), podWith("db", corev1.PodRunning, "10.0.5.7", "2001:db8::7"), podWith("job", corev1.PodSucceeded, "10.0.5.8"))...)
	moved := make(chan []netip.Addr, 10)
	policy, ranges, _ := running(t, client, func(o *RangesOptions) {
		o.Policy.options.NotifyAddresses = func(addresses []netip.Addr) { moved <- addresses }
	})
	within(t, "sync", ranges.Synced())
	for address, want := range map[string]Reason{
		"10.0.5.7": ReasonPod, "::ffff:10.0.5.7": ReasonPod, "64:ff9b::a00:507": ReasonPod, "2001:db8::7": ReasonPod,
		"10.0.5.8": ReasonAllowed, // of a pod that has ended
		"10.0.5.9": ReasonAllowed,
	} {
		if got := policy.Check(Query{IP: netip.MustParseAddr(address), Port: 443}).Reason; got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if got := policy.Check(Query{IP: netip.MustParseAddr("10.0.5.7"), Authorized: true}).Reason; got != ReasonAuthorized {
		t.Errorf("with the writer's right: %s", got)
	}
	if !policy.IsInCluster(netip.MustParseAddr("10.0.5.7")) || policy.IsInCluster(netip.MustParseAddr("10.0.5.9")) {
		t.Error("IsInCluster does not know pods")
	}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-moved:
			if len(got) != 1 || got[0].String() != want {
				t.Errorf("told of %v, want %s", got, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("told of nothing within 30s")
		}
	}
	if _, err := client.CoreV1().Pods("bank").Create(t.Context(), podWith("web", corev1.PodRunning, "10.0.5.9"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	next("10.0.5.9")
	if got := policy.Check(Query{IP: netip.MustParseAddr("10.0.5.9")}).Reason; got != ReasonPod {
		t.Errorf("a pod that came: %s", got)
	}
	if err := client.CoreV1().Pods("bank").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	next("10.0.5.9")
	if got := policy.Check(Query{IP: netip.MustParseAddr("10.0.5.9")}).Reason; got != ReasonAllowed {
		t.Errorf("a pod that went: %s", got)
	}
}

// Where pods cannot be read, nothing is taken away, and what may be a pod's address is not given to anyone new.
func TestPodsThatCannotBeReadDenyWhatIsNewAlone(t *testing.T) {
	const private, shared, own, outside = "10.0.5.7", "100.64.3.3", "fd00:5::7", "203.0.113.7"
	forbidden := func(client *fake.Clientset) func() {
		refused := true
		client.PrependReactor("list", "pods", func(ktesting.Action) (bool, kruntime.Object, error) {
			return refused, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
		})
		return func() { refused = false }
	}
	quickly := func(o *RangesOptions) { o.PodsTimeout = time.Millisecond }
	check := func(p *Policy, address string, q Query) Reason {
		q.IP = netip.MustParseAddr(address)
		return p.Check(q).Reason
	}
	t.Run("without ranges", func(t *testing.T) {
		client := fake.NewClientset(nodesWithout()...)
		grant := forbidden(client)
		policy, ranges, changes := running(t, client, quickly)
		within(t, "sync", ranges.Synced())
		for _, address := range []string{private, shared, own} {
			if got := check(policy, address, Query{}); got != ReasonPodsUnknown || !got.IsUnknown() {
				t.Errorf("%s: %s", address, got)
			}
			if got := check(policy, address, Query{Held: true}); got != ReasonAllowed {
				t.Errorf("%s, which is published: %s", address, got)
			}
			if got := check(policy, address, Query{Authorized: true}); got != ReasonAllowed {
				t.Errorf("%s, with the writer's right: %s", address, got)
			}
		}
		if got := check(policy, outside, Query{}); got != ReasonAllowed {
			t.Errorf("%s: %s", outside, got)
		}
		if got := check(policy, "10.0.0.11", Query{Held: true}); got != ReasonNode {
			t.Errorf("a node, which is known: %s", got)
		}
		within(t, "first notice", changes)
		grant()
		within(t, "pods are read", changes)
		if got := check(policy, private, Query{}); got != ReasonAllowed {
			t.Errorf("%s, after pods were read: %s", private, got)
		}
	})
	t.Run("what an administrator allows", func(t *testing.T) {
		policy := NewPolicy(Options{Allow: []Rule{{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}})
		policy.update(discovery{podsUnknown: true})
		if got := check(policy, private, Query{}); got != ReasonAllowed {
			t.Errorf("%s: %s", private, got)
		}
		if got := check(policy, own, Query{}); got != ReasonPodsUnknown {
			t.Errorf("%s: %s", own, got)
		}
	})
	t.Run("with ranges of nodes", func(t *testing.T) {
		client := fake.NewClientset(objects()...)
		forbidden(client)
		policy, ranges, _ := running(t, client, quickly)
		within(t, "sync", ranges.Synced())
		if got := check(policy, private, Query{}); got != ReasonAllowed {
			t.Errorf("%s: %s", private, got)
		}
	})
	t.Run("with configured ranges", func(t *testing.T) {
		client := fake.NewClientset(nodesWithout()...)
		forbidden(client)
		policy, ranges, _ := running(t, client, func(o *RangesOptions) {
			quickly(o)
			o.Policy.options.ClusterCIDRs = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
		})
		within(t, "sync", ranges.Synced())
		if got := check(policy, private, Query{}); got != ReasonAllowed {
			t.Errorf("%s: %s", private, got)
		}
	})
}

// An own pod is checked although writers may publish no address of the cluster.
func TestAnOwnPodIsCheckedWhateverWritersMay(t *testing.T) {
	pods := newPodAddresses(func(netip.Addr) {})
	policy := NewPolicy(Options{ClusterDeny: true})
	policy.update(discovery{pods: pods})
	if err := pods.Add(podWith("web", corev1.PodRunning, "10.0.5.7")); err != nil {
		t.Fatal(err)
	}
	q := Query{IP: netip.MustParseAddr("10.0.5.7"), Authorized: true}
	if policy.Check(q).Allowed {
		t.Error("clusterRanges: Deny leaves a pod open to its writer")
	}
	if q.OwnPod = true; !policy.Check(q).Allowed {
		t.Error("the pod is not checked")
	}
}

// The store has what the pods have, whatever comes in whichever order: pods that share an address, change theirs, end,
// are forgotten by a watch, and come again with a list.
func TestTheStoreHasTheAddressesOfThePods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		changes := map[netip.Addr]int{}
		store := newPodAddresses(func(ip netip.Addr) { changes[ip]++ })
		live := map[types.UID]*corev1.Pod{}
		ip := rapid.Map(rapid.IntRange(1, 4), func(i int) string { return fmt.Sprintf("10.0.0.%d", i) })
		pod := rapid.Custom(func(t *rapid.T) *corev1.Pod {
			phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded}).Draw(t, "phase")
			ips := rapid.SliceOfNDistinct(ip, 0, 2, rapid.ID).Draw(t, "ips")
			return podWith(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"), phase, ips...)
		})
		held := func() map[netip.Addr]bool {
			all := map[netip.Addr]bool{}
			for _, pod := range live {
				for _, ip := range pod.Status.PodIPs {
					if pod.Status.Phase != corev1.PodSucceeded {
						all[netip.MustParseAddr(ip.IP)] = true
					}
				}
			}
			return all
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				p := pod.Draw(t, "pod")
				live[p.UID] = p
				_ = store.Update(p)
			},
			"delete": func(t *rapid.T) {
				p := pod.Draw(t, "pod") // in whatever state it was seen last
				delete(live, p.UID)
				_ = store.Delete(p)
			},
			"list": func(t *rapid.T) {
				live = map[types.UID]*corev1.Pod{}
				var all []any
				for _, p := range rapid.SliceOfN(pod, 0, 3).Draw(t, "pods") {
					if live[p.UID] == nil {
						live[p.UID] = p
						all = append(all, p)
					}
				}
				_ = store.Replace(all, "1")
				if !store.areKnown() {
					t.Fatal("a list was read, and pods are not known")
				}
			},
			"": func(t *rapid.T) {
				want := held()
				for i := 1; i <= 4; i++ {
					ip := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
					if store.has(ip) != want[ip] {
						t.Fatalf("%s: %t, want %t; the pods have %v", ip, store.has(ip), want[ip], slices.Collect(maps.Keys(want)))
					}
					if (changes[ip]%2 == 1) != want[ip] {
						t.Fatalf("%s: told %d times of a change, and it is %t that a pod has it", ip, changes[ip], want[ip])
					}
				}
				if len(store.ofPod) > len(live) {
					t.Fatalf("%d pods are remembered of %d", len(store.ofPod), len(live))
				}
			},
		})
	})
}

// Law: unknown takes nothing away and starts nothing, and a name is only a name: what is known of the rest of the
// cluster decides as before.
func TestUnknownPodsChangeNoVerdictOfWhatIsHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.SampledFrom([]string{"10.0.0.0/8", "10.0.5.0/24", "192.168.0.0/16", "203.0.113.0/24"})
		rules := rapid.SliceOfN(rapid.Map(prefix, func(cidr string) Rule { return Rule{CIDRs: []netip.Prefix{netip.MustParsePrefix(cidr)}} }), 0, 2)
		policy := NewPolicy(Options{DefaultDeny: rapid.Bool().Draw(t, "default"), ClusterDeny: rapid.Bool().Draw(t, "cluster"), Allow: rules.Draw(t, "allow"), Deny: rules.Draw(t, "deny")})
		known := discovery{ranges: cluster()}
		q := Query{
			IP:   netip.MustParseAddr(rapid.SampledFrom([]string{"10.0.5.7", "192.168.7.7", "203.0.113.7", "10.244.1.7", "fd00:5::7", "64:ff9b::a00:507", "169.254.169.254"}).Draw(t, "ip")),
			Port: 443, Authorized: rapid.Bool().Draw(t, "authorized"),
		}
		policy.update(known)
		was := policy.Check(q)
		known.podsUnknown = true
		policy.update(known)
		if now := policy.Check(q); now.Allowed && !was.Allowed {
			t.Fatalf("%v: not to know allows what was denied with %s", q, was.Reason)
		}
		q.Held = true
		if now := policy.Check(q); now != was {
			t.Fatalf("%v: %v, and %v where pods are unknown, although it is held", q, was, now)
		}
	})
}

// What the addresses of pods cost in a large cluster.
func TestTwentyThousandPodsTakeAFewMebibytes(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	store := newPodAddresses(func(netip.Addr) {})
	const n = 20_000
	for i := range n {
		ip := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})
		pod := podWith(fmt.Sprintf("%08d-0000-4000-8000-000000000000", i), corev1.PodRunning, ip.String(), fmt.Sprintf("2001:db8::%x", i+1))
		pod.Annotations = map[string]string{"large": string(make([]byte, 1000))}
		_ = store.Add(pod)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	perPod := float64(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%.0f bytes for each pod with two addresses", perPod)
	if perPod > 600 {
		t.Errorf("%.0f bytes for each pod, want at most 600", perPod)
	}
	runtime.KeepAlive(store)
}
