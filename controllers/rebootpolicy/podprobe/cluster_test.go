// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	knetworkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

var (
	podIP   = netip.MustParseAddr("10.244.0.9")
	outside = netip.MustParseAddr("192.0.2.7")
)

// clusterPolicy is a policy that has read the ranges of a cluster.
func clusterPolicy(t *testing.T) *egress.Policy {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}, Spec: corev1.NodeSpec{PodCIDRs: []string{"10.244.0.0/24"}}}
	node.Status.Addresses = []corev1.NodeAddress{{Address: "10.0.0.11"}, {Address: "10.0.0.12"}}
	policy := egress.NewPolicy(egress.Options{})
	ranges, err := egress.NewRanges(egress.RangesOptions{Policy: policy, Settle: time.Millisecond, Client: fake.NewClientset(node,
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes"}, Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}}},
		&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes-1", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.11"}}, {Addresses: []string{"10.244.0.2"}}}},
		&knetworkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: knetworkingv1.ServiceCIDRSpec{CIDRs: []string{"10.96.0.0/16"}}},
	)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ranges.Run(ctx) }()
	<-ranges.Synced()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return policy
}

// probeCluster is a cluster all of whose addresses are this host's loopback, behind the real policy.
type probeCluster struct {
	dialer         *egress.Dialer
	opened, closed atomic.Int64
}

type counted struct {
	net.Conn

	world *probeCluster
	once  atomic.Bool
}

func (c *counted) Close() error {
	if c.once.CompareAndSwap(false, true) {
		c.world.closed.Add(1)
	}
	return c.Conn.Close()
}

func newProbeCluster(policy *egress.Policy) *probeCluster {
	w := &probeCluster{}
	w.dialer = egress.NewDialer(policy, func(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), to.Port()).String())
		if err != nil {
			return nil, err
		}
		w.opened.Add(1)
		return &counted{Conn: conn, world: w}, nil
	})
	return w
}

// check runs Checks until the verdict is made up, and returns it.
func (w *probeCluster) check(t *testing.T, p *autorebootv1.Probe, all []Pod) Result {
	t.Helper()
	return w.checkSome(t, p, all, 0)
}

// checkSome waits until no more than so many are unknown. Nothing may be left afterwards.
func (w *probeCluster) checkSome(t *testing.T, p *autorebootv1.Probe, all []Pod, unknown int) Result {
	t.Helper()
	before := runtime.NumGoroutine()
	c := New(Options{Dial: w.dialer.Dial, Lookup: func(context.Context, string, networkingv1.RecordType) dns.Answer {
		none := dns.FamilyAnswer{Outcome: dns.Resolved}
		return dns.Answer{IPv6: none, IPv4: dns.FamilyAnswer{Outcome: dns.Resolved, Addresses: []dns.Address{{IP: outside}}}}
	}})
	c.Set(policy("p"), of(p, all))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	v := c.Result(policy("p"), "wedged", "w")
	for i := 0; i < 20_000 && v.Unsupported == "" && v.Unknown > unknown; i++ {
		<-tick.C
		v = c.Result(policy("p"), "wedged", "w")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	if opened, closed := w.opened.Load(), w.closed.Load(); opened != closed {
		t.Errorf("%d connections were opened, and %d closed", opened, closed)
	}
	// Those of the servers take a moment.
	for i := 0; i < 5000 && runtime.NumGoroutine() > before; i++ {
		<-tick.C
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	return v
}
