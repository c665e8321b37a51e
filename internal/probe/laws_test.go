// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// asked is all that makes targets different.
type asked struct {
	ip   netip.Addr
	port uint16
	// path and own, the host of the check, are of an HTTP request, and host is that of the target where own is empty.
	path, own, host string
}

// askedBy returns what is asked of a target.
func askedBy(c *Check, t *Target) asked {
	is := asked{ip: t.IP, port: t.Port}
	if c.HTTPGet != nil {
		if is.path, is.own = *c.HTTPGet.Path, ptr.Deref(c.HTTPGet.HostHeader, ""); is.own == "" {
			is.host = t.Host
		}
	}
	return is
}

// Law 12: targets that differ in what is asked share nothing, and those that differ in a name, in their order, in times or in
// thresholds share all. Of the ports 1 serves nothing, and 2 all but the path and the host that have "bad" in them.
func TestLawAKeyIsTheWholeKey(t *testing.T) {
	type edit struct {
		check, slower, named int
		ports, hosts         [3]int
		order                int
		wait                 time.Duration
	}
	draw := rapid.Custom(func(rt *rapid.T) edit {
		upTo := func(n int, of string) int { return rapid.IntRange(0, n).Draw(rt, of) }
		e := edit{check: upTo(4, "check"), slower: upTo(1, "slower"), named: upTo(2, "named"), order: upTo(2, "order")}
		for i := range e.ports {
			e.ports[i], e.hosts[i] = 1+upTo(1, "port"), upTo(2, "host")
		}
		e.wait = rapid.SampledFrom([]time.Duration{0, time.Second, 15 * time.Second, 2 * time.Minute}).Draw(rt, "wait")
		return e
	})
	checkOf := func(e *edit) Check {
		port := []*intstr.IntOrString{nil, ptr.To(intstr.FromString("sql")), ptr.To(intstr.FromInt32(5432))}[e.named]
		c := withDefaults(common.Check{TCPSocket: &common.TCPSocketAction{Port: port}}, nil)
		if e.check > 0 {
			get := common.HTTPGetAction{Port: port, Path: ptr.To([]string{"/", "/", "/bad", "/"}[e.check-1])}
			if e.check > 2 {
				get.HostHeader = ptr.To([]string{"x.example.com", "bad.example.com"}[e.check-3])
			}
			c = getting(get, nil, nil)
		}
		c.Interval, c.FailureThreshold = ptr.To([]common.Duration{"10s", "20s"}[e.slower]), ptr.To([]int32{3, 5}[e.slower])
		return c
	}
	rapid.Check(t, func(rt *rapid.T) {
		edits := rapid.SliceOfN(draw, 1, 12).Draw(rt, "edits")
		failure := ""
		runSuite(t, 0.5, Options{}, func(s *suite) {
			s.serves = func(port uint16, r *http.Request) bool {
				return port != 1 && (r == nil || r.URL.Path != "/bad" && !strings.HasPrefix(r.Host, "bad."))
			}
			known := map[asked]Health{}
			for n := range edits {
				check := checkOf(&edits[n])
				wanted := make([]Target, 3)
				for i := range wanted {
					at := (i + edits[n].order) % 3
					wanted[i] = Target{IP: ip(at), Port: uint16(edits[n].ports[at]), Host: []string{"", "a.example.com", "bad.example.com"}[edits[n].hosts[at]]}
				}
				for i, health := range s.Set(key("db"), check, wanted) {
					switch before, shared := known[askedBy(&check, &wanted[i])]; {
					case !shared && health.State != networkingv1.AddressUnknown:
						failure = fmt.Sprintf("edit %d: %+v is %s before anything was asked", n, wanted[i], health.State)
					case shared && (before.State != health.State || !before.Since.Equal(health.Since) || before.Falls != health.Falls):
						failure = fmt.Sprintf("edit %d: %+v was %+v and is %+v", n, wanted[i], before, health)
					}
				}
				synctest.Wait() // every first answer is there
				s.advance(edits[n].wait)
				clear(known)
				for i, health := range s.Set(key("db"), check, wanted) {
					is := askedBy(&check, &wanted[i])
					known[is] = health
					want := networkingv1.AddressHealthy
					if is.port == 1 || is.path == "/bad" || is.own == "bad.example.com" || is.host == "bad.example.com" {
						want = networkingv1.AddressUnhealthy
					}
					if health.State != want {
						failure = fmt.Sprintf("edit %d: %+v is %s after its first answer, want %s", n, wanted[i], health.State, want)
					}
				}
			}
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}
