// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/egress"
)

// filterAnswers are the addresses that another server returns for a name. None of them may be published.
var filterAnswers = map[string]egress.Reason{
	"0.0.0.0": egress.ReasonUnspecified, "127.0.0.1": egress.ReasonLoopback, "169.254.169.254": egress.ReasonLinkLocal,
	"224.0.0.1": egress.ReasonMulticast, "10.96.0.10": egress.ReasonService, "10.244.1.7": egress.ReasonPod, "10.0.0.5": egress.ReasonNode,
	"203.0.113.77": egress.ReasonDeniedByPolicy,
}

// pooled lives with a name whose answers have 2 of 20 addresses, once all of them are published.
func pooled(t *testing.T, spec string, live func(l *life, pool []string)) {
	synctest.Test(t, func(t *testing.T) {
		var pool []string
		for i := range 20 {
			pool = append(pool, fmt.Sprintf("198.18.0.%d", i+100))
		}
		o := &outside{down: map[string]bool{}, leads: map[string]string{"db.example.com": strings.Join(pool, " ")}, rotates: 2}
		l := &life{suite: newSuite(t, spec), outside: o, wake: make(chan struct{}, 1)}
		for ip, reason := range filterAnswers {
			l.policy[ip] = reason
		}
		l.begin()
		defer func() { l.stop() }()
		l.live(30 * time.Minute)
		if got := l.ready(); !slices.Equal(got, pool) {
			t.Fatalf("%d of %d addresses are published in the first place", len(got), len(pool))
		}
		live(l, pool)
	})
}

// Laws 1, 2 and 3: a name with rotating answers loses nothing by another process, by an edit of anything else, or by answers
// without a publishable address.
func TestLawARotatingNameLosesNothing(t *testing.T) {
	filters := slices.Sorted(func(yield func(string) bool) {
		for ip := range filterAnswers {
			if !yield(ip) {
				return
			}
		}
	})
	failures := slices.Concat(filters, []string{"Timeout", "ServFail", "NXDomain", "Denied", "0.0.0.0 10.244.1.7", "127.0.0.1 169.254.169.254 224.0.0.1"})
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "restart", "restart", "forget status", "suspend", "rename", "check", "TTL", "fail", "fail", "resolve", "twice")
		spec := `{ports: [{name: sql, port: 5432}], resolution: {minTTL: 1s, maxTTL: 30s}, endpoints: [{name: a, dns: {name: db.example.com}}]`
		if rapid.Bool().Draw(rt, "checked") {
			spec += `, healthCheck: {tcpSocket: {}, interval: 30s, jitterPercent: 0}`
		}
		lost := ""
		pooled(t, spec+"}", func(l *life, pool []string) {
			leads := l.leads["db.example.com"]
			l.afterReconcile = func() {
				if got := l.ready(); lost == "" && !slices.Equal(got, pool) {
					lost = fmt.Sprintf("after %s %d of %d are left: %v", time.Since(bubbleEpoch), len(got), len(pool), got)
				}
			}
			for _, s := range history {
				switch s.what {
				case "forget status":
					l.stop()
					es := l.object()
					es.Status = networkingv1.ExternalServiceStatus{}
					l.must(l.store.Status().Update(l.Context(), es))
					l.begin()
				case "rename":
					l.edit(func(es *networkingv1.ExternalService) { es.Spec.Endpoints[0].Name = fmt.Sprintf("e%d", s.value) })
					l.due = time.Now()
				case "check":
					l.edit(func(es *networkingv1.ExternalService) {
						if h := es.Spec.HealthCheck; h != nil {
							h.FailureThreshold = new(int32(1 + s.value%5))
						}
					})
					l.due = time.Now()
				case "TTL":
					l.edit(func(es *networkingv1.ExternalService) {
						es.Spec.Resolution.MinTTL = new(common.Duration([]string{"1s", "30s"}[s.value%2]))
					})
					l.due = time.Now()
				case "fail":
					l.set(func() { l.leads["db.example.com"] = failures[s.value%len(failures)] })
				case "resolve":
					l.set(func() { l.leads["db.example.com"] = leads })
				default:
					l.do(s)
				}
				l.live(s.wait)
			}
			l.set(func() { l.leads["db.example.com"] = leads })
			l.live(20 * time.Minute)
		})
		if lost != "" {
			rt.Fatal(lost)
		}
	})
}
