// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// deadPort is one on which nothing listens.
const deadPort = 5999

// readyPorts returns the addresses that are ready, each with its port.
func (l *life) readyPorts() (all []string) {
	var list discoveryv1.EndpointSliceList
	l.must(l.store.List(l.Context(), &list, client.InNamespace(objectKey.Namespace)))
	for i := range list.Items {
		for _, e := range list.Items[i].Endpoints {
			if *e.Conditions.Ready {
				all = append(all, fmt.Sprintf("%s:%d", e.Addresses[0], *list.Items[i].Ports[0].Port))
			}
		}
	}
	slices.Sort(all)
	return all
}

// editAway edits the object, while no process is there or not.
func (l *life) editAway(isAway bool, change func(*networkingv1.ExternalService)) {
	if isAway {
		l.stop()
	}
	l.edit(change)
	if isAway {
		l.begin()
	}
}

// portForms are specs in which what is published listens on a port or not, by other names and numbers.
var portForms = []string{
	`ports: [{name: sql, port: 5432, targetPort: %[1]d}]
endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}%[2]s]`,
	`ports: [{name: pg, port: 5432, targetPort: %[1]d}]
endpoints: [{name: x, priority: 3, addresses: [192.0.2.2]}, {name: y, priority: 3, addresses: [192.0.2.1]}%[2]s]`,
	`ports: [{name: sql, port: 5432}]
endpoints: [{name: b, priority: 2, ports: [{name: sql, port: %[1]d}], addresses: [192.0.2.1, 192.0.2.2]}%[2]s]`,
	`ports: [{name: sql, port: 5432, targetPort: %[1]d}]
endpoints: [{name: a, dns: {name: a.example.com}}%[2]s]`,
}

// Law 12: another port is another target. What never listened is never ready; what listens is ready within the time of a first
// check, however it was before; and where something listened and something is to be checked, something is ready meanwhile.
func TestLawAnotherPortIsAnotherTarget(t *testing.T) {
	const rest = `resolution: {minTTL: 1s, maxTTL: 30s}
healthCheck: {tcpSocket: {}, interval: 5s, unhealthyInterval: 30s, timeout: 2s, jitterPercent: 0, successThreshold: 3, failureThreshold: 3}
`
	const firstCheck = 8 * time.Second // a lookup and a check of 1.5s each, and what holds slices for 2s
	standby := `, {name: standby, priority: 7, ports: [{name: %s, port: 6000}], addresses: [198.51.100.1]}`
	checkLaw(t, func(rt *rapid.T) {
		hasStandby := rapid.Bool().Draw(rt, "standby")
		history := drawHistory(rt, "port", "port", "port", "restart", "twice")
		takes := rapid.SampledFrom([]time.Duration{time.Millisecond, 1500 * time.Millisecond}).Draw(rt, "takes")
		form := func(value int) string {
			text, more := portForms[value/2%len(portForms)], ""
			if hasStandby {
				more = fmt.Sprintf(standby, map[bool]string{true: "pg", false: "sql"}[strings.Contains(text, "pg")])
			}
			return rest + fmt.Sprintf(text, []int{5432, deadPort}[value%2], more)
		}
		failure := ""
		liveFrom(t, takes, form(0), nil, func(l *life) {
			l.down[fmt.Sprintf("%s:%d", lawA1, deadPort)], l.down[fmt.Sprintf("%s:%d", lawA2, deadPort)] = true, true
			listens := true
			edited, listened := time.Now(), false
			fail := func(format string, args ...any) {
				if failure == "" {
					failure = fmt.Sprintf("at %s: ", time.Since(bubbleEpoch)) + fmt.Sprintf(format, args...)
				}
			}
			l.afterReconcile = func() {
				ready := l.readyPorts()
				isSettled := time.Since(edited) > firstCheck
				if slices.ContainsFunc(ready, func(at string) bool { return strings.HasSuffix(at, fmt.Sprint(":", deadPort)) }) {
					fail("%v is ready, where nothing listens", ready)
				}
				if len(ready) == 0 && listened && (listens || hasStandby) && isSettled {
					fail("nothing is ready")
				}
				if len(ready) > 0 && strings.HasSuffix(ready[0], ":5432") {
					listened = true
					if isSettled && !listens {
						fail("%v is ready, which the spec lacks", ready)
					}
				}
			}
			l.begin()
			l.live(time.Minute + 31*time.Millisecond)
			for _, s := range history {
				if s.what != "port" {
					l.take(s)
					continue
				}
				before := l.readyPorts()
				text := form(s.value)
				listens, edited = s.value%2 == 0, time.Now()
				l.editAway(s.value%3 == 0, func(es *networkingv1.ExternalService) { es.Spec = parseSpec(l.TB, text) })
				l.reconcileNow()
				if now := l.readyPorts(); len(before) > 0 && len(now) == 0 && takes > time.Second {
					fail("nothing is ready before the first check, and %v was", before)
				}
				l.due = time.Now()
				l.live(s.wait)
				l.live(firstCheck + time.Second - min(s.wait, firstCheck))
				if ready := l.readyPorts(); listens && (len(ready) != 2 || !strings.HasPrefix(ready[0], lawA1)) && !hasStandby {
					fail("%v is ready, and both listen", ready)
				}
			}
			l.edit(func(es *networkingv1.ExternalService) { es.Spec = parseSpec(l.TB, form(0)) })
			listens, edited = true, time.Now()
			l.stop()
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

// lists are the addresses of an object in the order of their preference.
var lists = func() (all [][]string) {
	ips := []string{lawA1, lawA2, lawB1, "203.0.113.1"}
	for i := range 64 {
		var list []string
		for n, rest := 1+i/16, i; n > 0; n, rest = n-1, rest/2 {
			if ip := ips[(rest+n)%len(ips)]; !slices.Contains(list, ip) {
				list = append(list, ip)
			}
		}
		all = append(all, list)
	}
	return all
}()

// Laws 2 and 12: what is active is what is published, whatever its number is. Whatever is inserted, removed and renumbered, what
// accepts and is in the spec stays while failback is Manual; and what is published changes with an event that says so.
func TestLawANumberIsOnlyAName(t *testing.T) {
	const settles = 20 * time.Second // two failures, and what holds the object
	rest := strings.Replace(lawRest, "failbackDelay: 1m", "failback: Manual", 1)
	specOf := func(value int) string {
		list, step := lists[value%len(lists)], 1+value%2
		text := rest
		for i, ip := range list {
			text += fmt.Sprintf("- {name: e%d, priority: %d, addresses: [%s]}\n", (i+value)%7, i*step+value%3, ip)
		}
		return text
	}
	checkLaw(t, func(rt *rapid.T) {
		history := drawHistory(rt, "list", "list", "list", "down", "restart", "twice")
		first := rapid.IntRange(0, 191).Draw(rt, "first")
		failure := ""
		liveFrom(t, time.Millisecond, specOf(first), nil, func(l *life) {
			l.rest, l.inStep = rest, true
			up := map[string]time.Time{}
			list := lists[first%len(lists)]
			var before []string
			announced := false // while what the spec lacks stays for the first check of another
			fail := func(format string, args ...any) {
				if failure == "" {
					failure = fmt.Sprintf("at %s: ", time.Since(bubbleEpoch)) + fmt.Sprintf(format, args...)
				}
			}
			l.afterReconcile = func() {
				ready := l.ready()
				moved := len(before) > 0 && len(ready) > 0 && ready[0] != before[0]
				says := slices.ContainsFunc(l.events, func(e string) bool {
					return strings.HasPrefix(e, networkingv1.EventFailedOver) || strings.HasPrefix(e, networkingv1.EventFailedBack)
				})
				told := says || announced
				since, isUp := up[onlyOne(before)]
				isUp = !l.down[onlyOne(before)] && (!isUp || time.Since(since) > settles)
				switch {
				case moved && isUp && slices.Contains(list, before[0]):
					fail("%v is published, and %v was, which accepts; the spec has %v; %v", ready, before, list, l.events)
				case moved && !told && !strings.Contains(strings.Join(l.events, " "), networkingv1.EventAddressesChanged):
					fail("%v is published, and %v was, without an event", ready, before)
				case says && !moved && len(before) > 0 && len(ready) > 0 && slices.Contains(list, before[0]):
					fail("%v stays published: %v", ready, l.events)
				}
				before, announced, l.events = ready, told && !moved, nil
			}
			l.begin()
			l.live(time.Minute + 31*time.Millisecond)
			for _, s := range history {
				switch s.what {
				case "list":
					list = lists[s.value%len(lists)]
					l.editAway(s.value%3 == 0, func(es *networkingv1.ExternalService) { es.Spec = parseSpec(l.TB, specOf(s.value)) })
					l.due = time.Now()
				case "down":
					ip := []string{lawA1, lawA2, lawB1, "203.0.113.1"}[s.value%4]
					l.set(func() { l.down[ip] = !l.down[ip] })
					up[ip] = time.Now()
				default:
					l.do(s)
				}
				l.live(s.wait)
			}
			l.stop()
		})
		if failure != "" {
			rt.Fatal(failure)
		}
	})
}

// onlyOne returns the address of a list, or "".
func onlyOne(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}
