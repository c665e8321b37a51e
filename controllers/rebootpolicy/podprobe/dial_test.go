// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package podprobe

import (
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

func TestWhichAddressesOfPodsAreChecked(t *testing.T) {
	rules := clusterPolicy(t)
	port := listen(t, func(net.Conn) {})
	for address, allowed := range map[string]bool{
		"10.244.0.9":         true, // of a pod
		"::ffff:10.244.0.9":  true,
		"10.0.0.12":          true,  // of a node, and so of pods in its network
		"192.0.2.7":          true,  // in no range that is known
		"10.0.0.11":          false, // a node with an API server
		"10.244.0.2":         false, // an API server in a pod
		"10.96.0.1":          false,
		"10.96.7.7":          false, // of a Service, which a pod cannot have
		"127.0.0.1":          false,
		"::1":                false,
		"0.0.0.0":            false,
		"169.254.169.254":    false,
		"fe80::1%eth0":       false,
		"fd00:ec2::254":      false,
		"100.100.100.200":    false,
		"224.0.0.1":          false,
		"::ffff:127.0.0.1":   false,
		"64:ff9b::a9fe:a9fe": false,
		"64:ff9b::10.0.0.11": false,
	} {
		t.Run(address, func(t *testing.T) {
			w := newProbeCluster(rules)
			got := w.check(t, once(port, connect), []Pod{{UID: "1", IP: netip.MustParseAddr(address), Port: port}})
			want := Result{Checked: 1}
			if !allowed {
				want = Result{Checked: 1, Unknown: 1, Unsupported: networkingv1.ProbeDenied}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if opened := w.opened.Load() > 0; opened != allowed {
				t.Errorf("connected: %t, want %t", opened, allowed)
			}
		})
	}
}

func TestAHostHasNoPodsRights(t *testing.T) {
	rules := clusterPolicy(t)
	port := listen(t, func(net.Conn) {})
	for host, allowed := range map[string]bool{
		"db.example.com": true, "192.0.2.7": true,
		"10.244.0.9": false, "10.0.0.12": false, "10.96.7.7": false, "10.0.0.11": false, "127.0.0.1": false, "169.254.169.254": false, "::": false,
	} {
		t.Run(host, func(t *testing.T) {
			w := newProbeCluster(rules)
			got := w.check(t, once(port, func(p *autorebootv1.Probe, port int32) {
				connect(p, port)
				p.Host = ptr.To(host)
			}), []Pod{{UID: "1", IP: podIP, Port: port}})
			want := Result{Checked: 1}
			if !allowed {
				want = Result{Checked: 1, Unknown: 1, Unsupported: networkingv1.ProbeDenied}
			}
			if got != want || w.opened.Load() > 0 != allowed {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func TestADenyOfThePolicyHoldsForPods(t *testing.T) {
	port := listen(t, func(net.Conn) {})
	rules := egress.NewPolicy(egress.Options{
		ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		Deny:         []egress.Rule{{CIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/24")}}},
	})
	want := Result{Checked: 2, Unknown: 1}
	got := newProbeCluster(rules).checkSome(t, once(port, connect), []Pod{{UID: "1", IP: podIP, Port: port}, {UID: "2", IP: netip.MustParseAddr("10.244.1.9"), Port: port}}, 1)
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
