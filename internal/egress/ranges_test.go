// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"
)

func node(name, podCIDR string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: []string{podCIDR}, PodCIDR: podCIDR}}
	n.Status.Images = []corev1.ContainerImage{{Names: []string{"large"}}}
	for _, address := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: address})
	}
	return n
}

// objects of a cluster, as its API server keeps them.
func objects() []runtime.Object {
	return []runtime.Object{
		node("one", "10.244.0.0/24", "10.0.0.11", "one.example.com", "203.0.113.11"),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1", "fd00:96::1"}}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "kubernetes"}, Spec: corev1.ServiceSpec{ClusterIP: "192.0.2.99"}},
		&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes-1", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"172.16.0.2"}}}},
		&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "other", Labels: map[string]string{discoveryv1.LabelServiceName: "other"}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.98"}}}},
		&networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}},
	}
}

// running starts a Ranges over a client and returns the policy that it informs, and what counts its
// changes.
func running(t *testing.T, client *fake.Clientset, change func(*RangesOptions)) (*Policy, *Ranges, <-chan struct{}) {
	t.Helper()
	changes := make(chan struct{}, 100)
	policy := NewPolicy(Options{Notify: func() { changes <- struct{}{} }})
	o := RangesOptions{Policy: policy, Client: client, Host: "https://198.51.100.6:6443", Settle: time.Millisecond, Retry: time.Millisecond, Recheck: time.Millisecond}
	if change != nil {
		change(&o)
	}
	ranges, err := NewRanges(o)
	if err != nil {
		t.Fatal(err)
	}
	if policy.Synced() {
		t.Error("the policy is synced before anything was read")
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ranges.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return policy, ranges, changes
}

func within(t *testing.T, what string, signal <-chan struct{}) {
	t.Helper()
	select {
	case <-signal:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: nothing within 30s", what)
	}
}

func reasons(p *Policy, addresses ...string) map[string]Reason {
	got := map[string]Reason{}
	for _, address := range addresses {
		got[address] = p.Check(Query{IP: netip.MustParseAddr(address), Port: 443}).Reason
	}
	return got
}

func TestRangesOfTheClusterAreDiscoveredAndFollowed(t *testing.T) {
	client := fake.NewClientset(objects()...)
	policy, ranges, changes := running(t, client, nil)
	within(t, "sync", ranges.Synced())
	within(t, "first notice", changes)
	for address, want := range map[string]Reason{
		"10.0.0.11": ReasonNode, "203.0.113.11": ReasonNode, "10.244.0.9": ReasonPod, "10.96.7.7": ReasonService, "fd00:96::1": ReasonAPIServer,
		"172.16.0.2": ReasonAPIServer, "198.51.100.6": ReasonAPIServer, "192.0.2.99": ReasonAllowed, "192.0.2.98": ReasonAllowed, "10.0.0.12": ReasonAllowed,
	} {
		if got := reasons(policy, address)[address]; got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), node("two", "10.244.1.0/24", "10.0.0.12"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, "a node came", changes)
	if got := reasons(policy, "10.0.0.12")["10.0.0.12"]; got != ReasonNode {
		t.Errorf("10.0.0.12: %s", got)
	}
	if err := client.CoreV1().Nodes().Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, "a node went", changes)
	if got := reasons(policy, "10.0.0.11")["10.0.0.11"]; got != ReasonAllowed {
		t.Errorf("10.0.0.11: %s", got)
	}
}

func TestAHeartbeatOfANodeChangesNothing(t *testing.T) {
	client := fake.NewClientset()
	f, err := nodeInformer(client)
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan struct{}, 10)
	if err := f.onChange(func() { changes <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.informer.RunWithContext(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	within(t, "sync", f.informer.HasSyncedChecker().Done())
	n := node("one", "10.244.0.0/24", "10.0.0.11")
	if _, err := client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, "create", changes)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.Now()}}
	if _, err := client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: "10.0.0.12"})
	if _, err := client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	within(t, "another address", changes)
	// Events come in order: had the heartbeat been a change, two would have arrived.
	if ranges := f.appendRanges(nil); len(ranges) != 3 || len(changes) != 0 {
		t.Errorf("%d ranges, %d changes too many", len(ranges), len(changes))
	}
	for _, obj := range f.informer.GetStore().List() {
		if _, isHeld := obj.(*objectRanges); !isHeld {
			t.Errorf("a whole %T is kept", obj)
		}
	}
}

func TestAnAPIServerWithoutServiceCIDRsIsNotWaitedFor(t *testing.T) {
	client := fake.NewClientset(objects()...)
	asked := make(chan struct{}, 1000)
	upgraded := make(chan struct{})
	client.PrependReactor("list", "servicecidrs", func(ktesting.Action) (bool, runtime.Object, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		select {
		case <-upgraded:
			return false, nil, nil
		default:
			return true, nil, apierrors.NewNotFound(networkingv1.Resource("servicecidrs"), "")
		}
	})
	policy, ranges, changes := running(t, client, nil)
	within(t, "sync", ranges.Synced())
	within(t, "first notice", changes)
	within(t, "ask", asked)
	got := reasons(policy, "10.96.0.1", "10.96.7.7")
	if got["10.96.0.1"] != ReasonAPIServer || got["10.96.7.7"] != ReasonAllowed {
		t.Errorf("%v", got)
	}
	close(upgraded)
	within(t, "upgrade", changes)
	if got := reasons(policy, "10.96.7.7")["10.96.7.7"]; got != ReasonService {
		t.Errorf("after the upgrade: %s", got)
	}
}

func TestWhatCannotBeReadKeepsThePolicyClosed(t *testing.T) {
	for _, resource := range []string{"nodes", "servicecidrs"} {
		t.Run(resource, func(t *testing.T) {
			client := fake.NewClientset(objects()...)
			refused := make(chan struct{}, 1000)
			granted := make(chan struct{})
			client.PrependReactor("list", resource, func(ktesting.Action) (bool, runtime.Object, error) {
				select {
				case <-granted:
					return false, nil, nil
				default:
				}
				select {
				case refused <- struct{}{}:
				default:
				}
				return true, nil, apierrors.NewForbidden(corev1.Resource(resource), "", errors.New("no right"))
			})
			policy, ranges, _ := running(t, client, nil)
			within(t, "refusal", refused)
			select {
			case <-ranges.Synced():
				t.Error("it is synced")
			default:
			}
			if got := reasons(policy, "192.0.2.1")["192.0.2.1"]; got != ReasonUnsynced {
				t.Errorf("192.0.2.1: %s", got)
			}
			close(granted)
			within(t, "sync", ranges.Synced())
		})
	}
}

func TestTheOperatorsOwnWayToTheAPIServerCountsWhereItIsAnAddress(t *testing.T) {
	for host, want := range map[string]string{
		"https://198.51.100.6:6443": "198.51.100.6/32", "198.51.100.6:6443": "198.51.100.6/32", "https://[2001:db8::6]": "2001:db8::6/128",
		"https://api.example.com": "", "": "", "https://%zz": "", "http://[::1": "",
	} {
		got := hostRanges(host)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0] != Range{netip.MustParsePrefix(want), ReasonAPIServer}) {
			t.Errorf("%q: %v, want %q", host, got, want)
		}
	}
}

func TestWithoutTheClusterNothingIsReadAndWhatIsConfiguredCounts(t *testing.T) {
	client := fake.NewClientset(objects()...)
	policy := NewPolicy(Options{ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	ranges, err := NewRanges(RangesOptions{Policy: policy, Client: client, Host: "https://198.51.100.6:6443", WithoutCluster: true})
	if err != nil {
		t.Fatal(err)
	}
	if v := policy.Check(Query{Namespace: "shop", IP: netip.MustParseAddr("192.0.2.1")}); v.Allowed {
		t.Error("open before it runs")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ranges.Run(ctx) }()
	within(t, "sync", ranges.Synced())
	for ip, want := range map[string]Reason{
		"10.96.0.1": ReasonClusterCIDR, "198.51.100.6": ReasonAPIServer, "192.0.2.1": ReasonAllowed,
		"203.0.113.11": ReasonAllowed, // a node's, which nothing tells of
	} {
		if v := policy.Check(Query{Namespace: "shop", IP: netip.MustParseAddr(ip)}); v.Reason != want {
			t.Errorf("%s: %+v, want %s", ip, v, want)
		}
	}
	cancel()
	if err := <-ended; err != nil || len(client.Actions()) > 0 {
		t.Errorf("%v, after the requests %v", err, client.Actions())
	}
}

func TestRangesNeedAPolicyAndAClient(t *testing.T) {
	if _, err := NewRanges(RangesOptions{}); err == nil {
		t.Error("made without either")
	}
}
