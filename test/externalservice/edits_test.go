// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// slowly is a check whose server takes 1.5s to reply.
const slowly = `httpGet: {path: /health}, interval: 3s, timeout: 3s, jitterPercent: 0`

// gaps watches the slices of a namespace, and tells of each Service when no address of it was ready.
type gaps struct {
	mu     sync.Mutex
	slices map[string]map[string][]string // of a Service, the ready addresses of each slice
	since  map[string]time.Time           // when the last address of a Service went
	found  map[string][]time.Duration
}

// watchGaps watches until the test ends.
func (s *suite) watchGaps() *gaps {
	s.Helper()
	g := &gaps{slices: map[string]map[string][]string{}, since: map[string]time.Time{}, found: map[string][]time.Duration{}}
	changes, err := s.Client.Watch(s.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace(s.Namespace))
	s.Must(err)
	var work sync.WaitGroup
	work.Go(func() {
		for change := range changes.ResultChan() {
			if slice, ok := change.Object.(*discoveryv1.EndpointSlice); ok {
				g.record(slice, change.Type == watch.Deleted)
			}
		}
	})
	s.Cleanup(func() {
		changes.Stop()
		work.Wait()
	})
	return g
}

func (g *gaps) record(slice *discoveryv1.EndpointSlice, deleted bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	service := slice.Labels[discoveryv1.LabelServiceName]
	if g.slices[service] == nil {
		g.slices[service] = map[string][]string{}
	}
	before := readyIn(g.slices[service])
	delete(g.slices[service], slice.Name)
	for _, endpoint := range slice.Endpoints {
		if !deleted && ptr.Deref(endpoint.Conditions.Ready, true) {
			g.slices[service][slice.Name] = append(g.slices[service][slice.Name], endpoint.Addresses...)
		}
	}
	now := readyIn(g.slices[service])
	if since, ok := g.since[service]; ok && now > 0 {
		g.found[service] = append(g.found[service], time.Since(since))
		delete(g.since, service)
	}
	if before > 0 && now == 0 {
		g.since[service] = time.Now()
	}
}

func readyIn(slices map[string][]string) int {
	n := 0
	for _, ready := range slices {
		n += len(ready)
	}
	return n
}

// of returns the times without a ready address of a Service, also one that has not ended.
func (g *gaps) of(service string) []time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := slices.Clone(g.found[service])
	if since, ok := g.since[service]; ok {
		found = append(found, time.Since(since))
	}
	return found
}

// edit is a change of a spec that leaves addresses and ports as they are.
type edit struct {
	from, to string
	// unresolved means that a name of the second spec never resolves.
	unresolved bool
	// write writes the second spec; nil updates the object.
	write func(s *suite, name, spec string)
}

// place is what the specs of an edit are made of: two addresses, and what leads to the first.
type place struct{ x, y, name, alias, service, broken, absent, silent string }

// newPlace opens slow servers at two addresses, and makes names that lead to the first.
func (s *suite) newPlace(i int) place {
	s.Helper()
	p := place{x: s.Servers.Address(), y: s.Servers.Address()}
	for _, at := range []string{p.x, p.y} {
		s.set(externalnet.Behavior{Delay: 1500 * time.Millisecond}, s.server(s.Servers.HTTP(at+":7000")))
	}
	host := func(label string) string { return s.host(fmt.Sprintf("%s-%d", label, i)) }
	p.name, p.alias, p.service = host("name"), host("alias"), host("_p._tcp")
	p.broken, p.absent, p.silent = host("broken"), host("absent"), host("silent")
	dns := s.Servers.DNS
	s.Must(dns.Addresses(p.name, time.Minute, p.x))
	s.Must(dns.Reply(p.alias, externalnet.CNAME, externalnet.Reply{Data: []string{p.name + "."}, TTL: time.Minute}))
	s.Must(dns.Reply(p.service, externalnet.SRV, externalnet.Reply{Data: []string{"10 5 7000 " + p.name + "."}, TTL: time.Minute}))
	s.Must(dns.Fail(p.broken, externalnet.ServFail))
	s.Must(dns.Fail(p.absent, externalnet.NXDomain))
	s.Must(dns.Fail(p.silent, externalnet.Silent))
	return p
}

// spec returns a spec of endpoints; more replaces or adds fields.
func spec(endpoints string, more ...string) string {
	fields := map[string]string{"ports": `[{name: p, port: 7000}]`, "endpoints": `[` + endpoints + `]`, "healthCheck": `{` + slowly + `}`,
		"resolution": `{minTTL: 1s, maxTTL: 2s}`}
	for i := 0; i+1 < len(more); i += 2 {
		fields[more[i]] = more[i+1]
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, name+": "+fields[name])
	}
	return `{` + strings.Join(all, ", ") + `}`
}

// forms are the ways in which one endpoint leads to the first address.
func (p place) forms() map[string]string {
	return map[string]string{
		"static":  `addresses: [` + p.x + `]`,
		"name":    `dns: {name: ` + p.name + `}`,
		"alias":   `dns: {name: ` + p.alias + `}`,
		"dotted":  `dns: {name: ` + p.name + `.}`,
		"service": `dns: {name: ` + p.service + `, recordType: SRV}`,
	}
}

// edits returns every edit.
func (p place) edits() map[string]edit {
	all := map[string]edit{}
	forms := p.forms()
	typos := map[string]string{"servfail": p.broken, "nxdomain": p.absent, "silent": p.silent}
	for from, was := range forms {
		for to, is := range forms {
			for _, name := range []string{"a", "renamed"} {
				all[from+"-"+to+"-"+name] = edit{from: spec(`{name: a, ` + was + `}`), to: spec(`{name: ` + name + `, ` + is + `}`)}
			}
		}
		for typo, host := range typos {
			for _, name := range []string{"a", "renamed"} {
				all[from+"-"+typo+"-"+name] = edit{from: spec(`{name: a, ` + was + `}`), to: spec(`{name: ` + name + `, dns: {name: ` + host + `}}`), unresolved: true}
			}
		}
	}
	x, y := `addresses: [`+p.x+`]`, `addresses: [`+p.y+`]`
	both := `{name: a, ` + x + `}, {name: b, ` + y + `}`
	priorities := `{name: a, ` + x + `}, {name: b, priority: 1, ` + y + `}`
	for name, one := range map[string][2]string{
		"reorder":           {both, `{name: b, ` + y + `}, {name: a, ` + x + `}`},
		"swap-names":        {both, `{name: b, ` + x + `}, {name: a, ` + y + `}`},
		"regroup":           {both, `{name: c, addresses: [` + p.y + `, ` + p.x + `]}`},
		"ungroup":           {`{name: c, addresses: [` + p.y + `, ` + p.x + `]}`, both},
		"zone":              {both, `{name: a, zone: z1, ` + x + `}, {name: b, zone: z2, ` + y + `}`},
		"rename-standby":    {priorities, `{name: a, ` + x + `}, {name: c, priority: 1, ` + y + `}`},
		"rename-priorities": {priorities, `{name: c, ` + x + `}, {name: d, priority: 1, ` + y + `}`},
		"other-priority":    {`{name: a, ` + x + `}`, `{name: a, priority: 3, ` + x + `}`},
		"swap-priorities":   {priorities, `{name: a, priority: 1, ` + x + `}, {name: b, ` + y + `}`},
		"new-primary":       {`{name: a, ` + x + `}`, `{name: b, ` + y + `}, {name: a, priority: 1, ` + x + `}`},
		"new-standby":       {`{name: a, ` + x + `}`, priorities},
		"same-priority":     {priorities, both},
		"blue-green":        {`{name: a, ` + x + `}, {name: b, state: Drained, ` + y + `}`, `{name: a, state: Drained, ` + x + `}, {name: b, ` + y + `}`},
		"other-address":     {`{name: a, ` + x + `}`, `{name: a, ` + y + `}`},
		"other-endpoint":    {`{name: a, ` + x + `}`, `{name: b, ` + y + `}`},
		"name-beside":       {`{name: a, ` + x + `}`, `{name: a, ` + x + `}, {name: b, dns: {name: ` + p.name + `}}`},
		"name-beside-typo":  {`{name: a, dns: {name: ` + p.name + `}}`, `{name: b, dns: {name: ` + p.name + `}}, {name: a, dns: {name: ` + p.absent + `}}`},
		"endpoint-port":     {`{name: a, ` + x + `}`, `{name: a, ports: [{name: p, port: 7000}], ` + x + `}`},
		"names-swap-typos":  {`{name: a, dns: {name: ` + p.name + `}}, {name: b, priority: 1, ` + y + `}`, `{name: b, dns: {name: ` + p.broken + `}}, {name: a, priority: 1, ` + y + `}`},
		"static-and-broken": {`{name: a, ` + x + `}`, `{name: b, dns: {name: ` + p.silent + `}}, {name: c, priority: 1, ` + y + `}`},
	} {
		// Where another endpoint has the address, there is nothing to keep for the name that does not resolve.
		unresolved := name != "name-beside-typo" && slices.ContainsFunc([]string{p.broken, p.absent, p.silent}, func(host string) bool { return strings.Contains(one[1], host) })
		all[name] = edit{from: spec(one[0]), to: spec(one[1]), unresolved: unresolved}
	}
	primary := `{name: a, ` + x + `}`
	for name, more := range map[string][]string{
		"check-kind":       {"healthCheck", `{tcpSocket: {}, interval: 3s, timeout: 3s}`},
		"check-path":       {"healthCheck", `{httpGet: {path: /other}, interval: 3s, timeout: 3s}`},
		"check-host":       {"healthCheck", `{httpGet: {path: /health, hostHeader: db.example.com}, interval: 3s, timeout: 3s}`},
		"check-statuses":   {"healthCheck", `{httpGet: {path: /health, expectedStatuses: [{start: 200, end: 204}]}, interval: 3s, timeout: 3s}`},
		"check-interval":   {"healthCheck", `{httpGet: {path: /health}, interval: 30s, timeout: 3s}`},
		"check-thresholds": {"healthCheck", `{httpGet: {path: /health}, interval: 3s, timeout: 3s, successThreshold: 5, failureThreshold: 5}`},
		"check-timeout":    {"healthCheck", `{httpGet: {path: /health}, interval: 5s, unhealthyInterval: 1s, timeout: 3s, jitterPercent: 50}`},
		"check-port":       {"healthCheck", `{httpGet: {path: /health, port: p}, interval: 3s, timeout: 3s}`},
		"no-check":         {"healthCheck", `null`},
		"ttl":              {"resolution", `{minTTL: 30s, maxTTL: 1h}`},
		"on-failure":       {"resolution", `{minTTL: 1s, maxTTL: 2s, onFailure: Remove, keepLastFor: 1h}`},
		"failover":         {"failover", `{minHealthyPercent: 100, failback: Manual, panicThresholdPercent: 1}`},
		"service-labels":   {"service", `{labels: {team: shop}}`},
		"port-protocol":    {"ports", `[{name: p, port: 7000, appProtocol: http}]`},
		"port-number":      {"ports", `[{name: p, port: 80, targetPort: 7000}]`},
		"port-name":        {"ports", `[{name: q, port: 7000}]`},
	} {
		all[name] = edit{from: spec(primary), to: spec(primary, more...)}
		all[name+"-back"] = edit{from: spec(primary, more...), to: spec(primary)}
		all[name+"-dns"] = edit{from: spec(`{name: a, dns: {name: ` + p.name + `}}`), to: spec(`{name: b, dns: {name: `+p.alias+`}}`, more...)}
	}
	all["replace"] = edit{from: spec(primary), to: spec(`{name: b, ` + forms["name"] + `}`), write: (*suite).replace}
	all["replace-unchanged"] = edit{from: spec(primary), to: spec(primary), write: (*suite).replace}
	all["v1alpha1"] = edit{from: spec(primary), to: spec(primary), write: (*suite).replaceAtAlpha}
	all["v1alpha1-priorities"] = edit{from: spec(priorities), to: spec(priorities), write: (*suite).replaceAtAlpha}
	return all
}

// replace is kubectl replace of a manifest.
func (s *suite) replace(name, spec string) {
	s.Helper()
	s.KubectlWith(s.manifest(name, spec), "replace", "-f", "-")
}

// replaceAtAlpha writes the object at v1alpha1, as it is there, with a description.
func (s *suite) replaceAtAlpha(name, _ string) {
	s.Helper()
	s.Kubectl("annotate", "externalservices.v1alpha1.networking.fairlead.dev", name, "note=changed")
	manifest := s.Kubectl("get", "externalservices.v1alpha1.networking.fairlead.dev", name, "-o", "yaml")
	s.KubectlWith(manifest, "replace", "-f", "-")
}

func (s *suite) parse(spec string) (parsed networkingv1.ExternalServiceSpec) {
	s.Helper()
	s.Must(yaml.UnmarshalStrict([]byte(spec), &parsed))
	return parsed
}

// rewrite updates the spec of an object.
func (s *suite) rewrite(name, spec string) {
	s.Helper()
	parsed := s.parse(spec)
	s.Must(framework.Retry(func() error {
		es, err := s.get(name)
		if err != nil {
			return err
		}
		es.Spec = parsed
		return s.Client.Update(s.Context(), es)
	}))
}

func TestNoEditThatKeepsAddressAndPortLeavesAServiceWithoutAReadyAddress(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.amongMany()
	var names []string
	for name := range (place{}).edits() {
		names = append(names, name)
	}
	slices.Sort(names)
	names = framework.Sample(framework.NewSampler(t), 16, names)
	all := map[string]edit{}
	for i, name := range names {
		all[name] = s.newPlace(i).edits()[name]
		s.parse(all[name].to)
		es := &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: s.parse(all[name].from)}
		s.Must(s.Client.Create(t.Context(), es))
	}
	for _, name := range names {
		s.condition(name, networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
		s.Eventually(func() error {
			if len(s.published(name)) == 0 {
				return fmt.Errorf("%s publishes nothing yet", name)
			}
			return nil
		})
	}
	g := s.watchGaps()
	for _, name := range names {
		if write := all[name].write; write != nil {
			write(s, name, all[name].to)
		} else {
			s.rewrite(name, all[name].to)
		}
	}
	for _, name := range names {
		status, reason := metav1.ConditionTrue, networkingv1.ReasonPublished
		s.condition(name, networkingv1.ConditionReady, status, reason)
		if all[name].unresolved {
			s.neverResolved(name)
		}
	}
	<-time.After(6 * time.Second) // longer than a check may take: nothing is to happen
	for _, name := range names {
		if found := g.of(name); len(found) > 0 {
			t.Errorf("%s: no address was ready for %s; from %s to %s", name, found, all[name].from, all[name].to)
		}
		if len(s.published(name)) == 0 {
			t.Errorf("%s: no address is ready in the end", name)
		}
	}
}

// neverResolved waits until the condition says that a name has never resolved, and that what it replaces is kept.
func (s *suite) neverResolved(name string) {
	s.Helper()
	s.Eventually(func() error {
		if message := s.message(name, networkingv1.ConditionResolved); !strings.Contains(message, "has never resolved") {
			return fmt.Errorf("%s: the condition says %q", name, message)
		}
		return nil
	})
}
