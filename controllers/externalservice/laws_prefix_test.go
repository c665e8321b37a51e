// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/publication"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// reach is what clients reach: behind each port and protocol of a Service the "address:port" that kube-proxy sends to, and
// behind "DNS" the addresses of a headless one.
type reach map[string]map[string]bool

// reach returns what clients reach now. kube-proxy finds the endpoints of a port by its name and protocol. Where two slices
// differ about one, either may count, so that it counts here only where all have it ready.
func (s *suite) reach() reach {
	s.Helper()
	service := &corev1.Service{}
	if err := s.store.Get(s.Context(), objectKey, service); err != nil {
		s.must(client.IgnoreNotFound(err))
		return nil
	}
	byName, all := map[string]map[string]bool{}, map[string]bool{}
	for _, slice := range sliceList(s) {
		for _, e := range slice.Endpoints {
			isReady := ptr.Deref(e.Conditions.Ready, true)
			all[e.Addresses[0]] = isReady || all[e.Addresses[0]]
			for _, p := range slice.Ports {
				key, to := *p.Name+"/"+string(*p.Protocol), fmt.Sprintf("%s:%d", e.Addresses[0], *p.Port)
				if byName[key] == nil {
					byName[key] = map[string]bool{}
				}
				is, known := byName[key][to]
				byName[key][to] = isReady && (is || !known)
			}
		}
	}
	isReady := func(_ string, ready bool) bool { return !ready }
	maps.DeleteFunc(all, isReady)
	out := reach{}
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
	case service.Spec.ClusterIP == corev1.ClusterIPNone:
		out["DNS"] = all
		for key, to := range byName { // SRV records
			maps.DeleteFunc(to, isReady)
			out["_"+key] = to
		}
	default:
		for _, p := range service.Spec.Ports {
			to := maps.Clone(byName[p.Name+"/"+string(p.Protocol)])
			maps.DeleteFunc(to, isReady)
			out[fmt.Sprintf("%d/%s", p.Port, p.Protocol)] = to
		}
	}
	return out
}

func (r reach) String() string {
	var all []string
	for _, of := range slices.Sorted(maps.Keys(r)) {
		if len(r[of]) > 0 {
			all = append(all, of+" "+strings.Join(slices.Sorted(maps.Keys(r[of])), " "))
		}
	}
	return strings.Join(all, "; ")
}

// isBetween returns what is wrong with what clients reach on the way from before to after, or "". It is never less than
// what both have, and nothing behind a port of the Service is at a port that neither sends to, nor its targetPort (targets).
func (r reach) isBetween(before, after, targets reach) string {
	for of, to := range before {
		for target := range to {
			if after[of][target] && !r[of][target] {
				return fmt.Sprintf("%s does not reach %s", of, target)
			}
		}
	}
	for of, to := range r {
		if strings.HasPrefix(of, "_") || of == "DNS" {
			continue
		}
		for target := range to {
			at := target[strings.LastIndex(target, ":"):]
			is := func(t string) bool { return strings.HasSuffix(t, at) }
			if !targets[of][at] && !slices.ContainsFunc(slices.Collect(maps.Keys(before[of])), is) && !slices.ContainsFunc(slices.Collect(maps.Keys(after[of])), is) {
				return fmt.Sprintf("%s reaches %s", of, target)
			}
		}
	}
	return ""
}

// route is an object that is edited, and what clients reached after each write of the edit.
type route struct {
	*suite
	before  reach
	targets reach
	reached []reach
	// left is how many writes are let through; negative for all. Those that begin with refused are not.
	left    int
	refused string
	// blocked is what the NetworkPolicy kept pods from, after which write, or "".
	blocked string
}

func (r route) String() string {
	text := fmt.Sprintf("before: %s", r.before)
	for i, write := range r.writes {
		text += "\n" + write
		if i < len(r.reached) {
			text += ": " + r.reached[i].String()
		}
	}
	return text
}

// newRoute has an object at rest with a spec.
func newRoute(t testing.TB, spec *networkingv1.ExternalServiceSpec) *route {
	t.Helper()
	r := &route{suite: newSuite(t, plain), left: -1}
	r.collectsGarbage = true
	r.edit(func(es *networkingv1.ExternalService) { es.Spec = *spec.DeepCopy() })
	r.rest()
	r.before, r.targets, r.writes = r.reach(), reach{}, nil
	r.addTargets(spec)
	r.afterWrite = func() {
		r.reached = append(r.reached, r.reach())
		if wrong := r.notAllowed(); wrong != "" && r.blocked == "" {
			r.blocked = fmt.Sprintf("after write %d: %s\n%s", len(r.reached), wrong, r)
		}
	}
	r.refuse = func(write string) error {
		if strings.HasPrefix(write, "create ") { // a dry run
			return nil
		}
		if r.left == 0 || r.refused != "" && strings.HasPrefix(write, r.refused) {
			r.writes = r.writes[:len(r.writes)-1]
			return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "x", errors.New(refusal))
		}
		r.left--
		return nil
	}
	return r
}

// rest reconciles until nothing has been written for a minute. Each address is healthy once it was checked.
func (r *route) rest() {
	r.Helper()
	quiet := 0
	for range 60 {
		wrote := len(r.writes)
		r.step()
		if r.advance(15 * time.Second); len(r.writes) > wrote {
			quiet = 0
		}
		if quiet++; quiet > 5 {
			return
		}
	}
	r.Fatalf("it does not end to write\n%s", r)
}

func (r *route) step() {
	r.Helper()
	_, err := r.Reconcile(r.Context(), reconcile.Request{NamespacedName: objectKey})
	r.must(err)
	for _, target := range r.health.targets {
		if ip := target.IP.String(); r.health.known[ip].State != networkingv1.AddressHealthy {
			r.health.setHealth("", ip, up)
		}
	}
	r.advance(time.Second)
}

func (r *route) edited(spec *networkingv1.ExternalServiceSpec) {
	r.addTargets(spec)
	r.edit(func(es *networkingv1.ExternalService) { es.Spec = *spec.DeepCopy() })
}

// addTargets adds the target ports of a spec.
func (r *route) addTargets(spec *networkingv1.ExternalServiceSpec) {
	for _, p := range spec.Ports {
		of := fmt.Sprintf("%d/%s", p.Port, ptr.Deref(p.Protocol, corev1.ProtocolTCP))
		if r.targets[of] == nil {
			r.targets[of] = map[string]bool{}
		}
		r.targets[of][fmt.Sprintf(":%d", ptr.Deref(p.TargetPort, p.Port))] = true
	}
}

// isSafe returns after which write clients reached what they must not, or did not reach what they must.
func (r *route) isSafe(after reach) string {
	for i := range r.reached {
		if wrong := r.reached[i].isBetween(r.before, after, r.targets); wrong != "" {
			return fmt.Sprintf("after write %d: %s\n%s\nafter: %s", i+1, wrong, r, after)
		}
	}
	return r.blocked
}

// checkPrefixes requires that each prefix of the writes of an edit is safe: the process may end after any of them, and any may
// be the last that the API server allows for a while. In the end all is as if nothing had happened.
func checkPrefixes(t testing.TB, before, after *networkingv1.ExternalServiceSpec) (wrong string) {
	t.Helper()
	whole := newRoute(t, before)
	whole.edited(after)
	whole.rest()
	end, wanted, allowed := whole.reach(), whole.published(), whole.allows()
	if wrong := whole.isSafe(end); wrong != "" {
		return wrong
	}
	stopped := func(what string, k int, refused string, ends bool) string {
		r := newRoute(t, before)
		r.edited(after)
		r.left, r.refused = k, refused
		for range 3 {
			r.step()
		}
		if ends {
			r.restart()
			r.step()
		}
		r.left, r.refused = -1, ""
		r.rest()
		wrong := r.isSafe(end)
		if wrong == "" && (r.reach().String() != end.String() || r.published() != wanted) {
			wrong = fmt.Sprintf("in the end %s, want %s\n%s", r.published(), wanted, r)
		}
		if wrong == "" && r.allows() != allowed {
			wrong = fmt.Sprintf("in the end the NetworkPolicy allows %s, want %s\n%s", r.allows(), allowed, r)
		}
		if wrong != "" {
			return what + ": " + wrong
		}
		return ""
	}
	for k := range len(whole.reached) {
		wrong = cmp.Or(wrong, stopped(fmt.Sprintf("the process ends after %d writes", k), k, "", true),
			stopped(fmt.Sprintf("writes are refused after %d", k), k, "", false))
	}
	for _, write := range append(slices.Clone(refusable), "apply NetworkPolicy", "delete NetworkPolicy") {
		wrong = cmp.Or(wrong, stopped(write+" is refused", -1, write, false))
	}
	return wrong
}

// prefixNames and the others are what specs of this law are made of.
var (
	prefixNames     = []string{"a", "b", "c"}
	prefixNumbers   = []int32{80, 443, 5432}
	prefixProtocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP}
	prefixAddresses = []networkingv1.IPAddress{"192.0.2.1", "192.0.2.2", "192.0.2.3", "2001:db8::1"}
)

// drawPrefixSpec draws a spec with ports and endpoints of few names, numbers and addresses, so that they often meet.
func drawPrefixSpec(rt *rapid.T) *networkingv1.ExternalServiceSpec {
	spec := &networkingv1.ExternalServiceSpec{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(prefixNames), 1, 3, rapid.ID).Draw(rt, "ports") {
		spec.Ports = append(spec.Ports, networkingv1.ServicePort{
			Name: name, Port: rapid.SampledFrom(prefixNumbers).Draw(rt, "port"), Protocol: new(rapid.SampledFrom(prefixProtocols).Draw(rt, "protocol")),
		})
		if rapid.Bool().Draw(rt, "hasTarget") {
			spec.Ports[len(spec.Ports)-1].TargetPort = new(rapid.SampledFrom([]int32{8080, 8443}).Draw(rt, "target"))
		}
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "z"}), 1, 3, rapid.ID).Draw(rt, "endpoints") {
		spec.Endpoints = append(spec.Endpoints, networkingv1.Endpoint{
			Name: name, Addresses: rapid.SliceOfNDistinct(rapid.SampledFrom(prefixAddresses), 1, 3, rapid.ID).Draw(rt, "addresses"),
		})
		changeEndpoint(rt, spec, len(spec.Endpoints)-1)
	}
	if rapid.Bool().Draw(rt, "isChecked") {
		spec.HealthCheck = &networkingv1.HealthCheck{}
	}
	if rapid.Bool().Draw(rt, "hasNetworkPolicy") {
		spec.NetworkPolicy = limiting()
	}
	return spec
}

// makeValid has the rest of a spec go with its ports, and reports whether admission lets it in.
func makeValid(spec *networkingv1.ExternalServiceSpec) bool {
	checked := slices.IndexFunc(spec.Ports, func(p networkingv1.ServicePort) bool {
		return ptr.Deref(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP
	})
	if checked < 0 {
		spec.HealthCheck = nil
	}
	if spec.HealthCheck != nil {
		port := intstr.FromInt32(spec.Ports[checked].Port)
		spec.HealthCheck.TCPSocket = &common.TCPSocketAction{Port: &port}
	}
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if spec.HealthCheck == nil {
			e.Priority = nil
		}
		e.Ports = slices.DeleteFunc(e.Ports, func(own networkingv1.EndpointPort) bool {
			return !slices.ContainsFunc(spec.Ports, func(p networkingv1.ServicePort) bool { return p.Name == own.Name })
		})
	}
	unique := map[string]bool{}
	for _, p := range spec.Ports {
		unique[fmt.Sprint(p.Port, ptr.Deref(p.Protocol, corev1.ProtocolTCP))] = true
	}
	if len(unique) < len(spec.Ports) {
		return false
	}
	es := &networkingv1.ExternalService{Spec: *spec.DeepCopy()}
	es.Namespace, es.Name = objectKey.Namespace, objectKey.Name
	rules.Default(es)
	return len(rules.Publishable(es)) == 0
}

// changeEndpoint may give an endpoint a port of its own, another priority, or have it drained.
func changeEndpoint(rt *rapid.T, spec *networkingv1.ExternalServiceSpec, i int) {
	e := &spec.Endpoints[i]
	switch rapid.SampledFrom([]string{"", "", "port", "priority", "drain"}).Draw(rt, "endpoint") {
	case "port":
		e.Ports = []networkingv1.EndpointPort{{
			Name: spec.Ports[rapid.IntRange(0, len(spec.Ports)-1).Draw(rt, "own")].Name, Port: rapid.SampledFrom([]int32{8080, 9090}).Draw(rt, "number"),
		}}
	case "priority":
		e.Priority = new(rapid.Int32Range(0, 2).Draw(rt, "priority"))
	case "drain":
		e.State = new(networkingv1.EndpointDrained)
	}
}

// drawEdit edits a spec: any field of it.
func drawEdit(rt *rapid.T, spec *networkingv1.ExternalServiceSpec) {
	port := func(label string) *networkingv1.ServicePort {
		return &spec.Ports[rapid.IntRange(0, len(spec.Ports)-1).Draw(rt, label)]
	}
	endpoint := rapid.IntRange(0, len(spec.Endpoints)-1).Draw(rt, "of")
	e := &spec.Endpoints[endpoint]
	switch rapid.SampledFrom([]string{
		"rename", "rename", "move", "retarget", "protocol", "swap", "swap", "port", "remove", "turn", "app", "addresses", "endpoint", "endpoints", "labels", "policy", "all",
	}).Draw(rt, "edit") {
	case "rename":
		port("p").Name = rapid.SampledFrom(append(prefixNames, "d")).Draw(rt, "name")
	case "move":
		port("p").Port = rapid.SampledFrom(append(prefixNumbers, 9000)).Draw(rt, "number")
	case "retarget":
		port("p").TargetPort = new(rapid.SampledFrom([]int32{8080, 8443, 7000}).Draw(rt, "target"))
	case "protocol":
		port("p").Protocol = new(rapid.SampledFrom(prefixProtocols).Draw(rt, "protocol"))
	case "swap":
		a, b := port("p"), port("q")
		a.Name, b.Name = b.Name, a.Name
	case "port":
		spec.Ports = append(spec.Ports, networkingv1.ServicePort{Name: "d", Port: 9001})
	case "remove":
		spec.Ports = spec.Ports[1:]
	case "turn":
		slices.Reverse(spec.Ports)
	case "app":
		port("p").AppProtocol = new("kubernetes.io/h2c")
	case "addresses":
		e.Addresses = rapid.SliceOfNDistinct(rapid.SampledFrom(prefixAddresses), 1, 3, rapid.ID).Draw(rt, "addresses")
	case "endpoint":
		e.Ports, e.Priority, e.State = nil, nil, nil
		changeEndpoint(rt, spec, endpoint)
	case "endpoints":
		e.Name = "w"
	case "labels":
		spec.Service = &networkingv1.ServiceTemplate{Type: ptr.Deref(spec.Service, networkingv1.ServiceTemplate{}).Type, Labels: map[string]common.LabelValue{"team": "db"}}
	case "policy":
		if spec.NetworkPolicy == nil {
			spec.NetworkPolicy = limiting()
		} else {
			spec.NetworkPolicy = nil
		}
	case "all":
		service := spec.Service
		*spec = *drawPrefixSpec(rt)
		spec.Service = service
	}
}

// Law 11: whatever is edited, what clients reach after each write is never less than what the old spec and the new one have in
// common, wherever the writes stop.
func TestLawEveryPrefixOfTheWritesIsSafe(t *testing.T) {
	checkLaw(t, func(rt *rapid.T) {
		before := drawPrefixSpec(rt)
		if rapid.IntRange(0, 3).Draw(rt, "type") == 0 {
			before.Service = &networkingv1.ServiceTemplate{ClusterIP: publication.ClusterIP(true)}
		}
		after := before.DeepCopy()
		for range rapid.IntRange(1, 3).Draw(rt, "edits") {
			drawEdit(rt, after)
			if len(after.Ports) == 0 {
				rt.Skip("no port is left")
			}
		}
		if !makeValid(before) || !makeValid(after) {
			rt.Skip("admission refuses it")
		}
		if wrong := checkPrefixes(t, before, after); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// The type changes in place: whatever refuses it, and wherever a process ends, there is a Service, and it is in the end what the
// spec says. Only between the two types it is neither.
func TestTheTypeOfAServiceChangesInPlace(t *testing.T) {
	spec := func(isHeadless bool) *networkingv1.ExternalServiceSpec {
		s := manyPorts(networkingv1.ServicePort{Name: "sql", Port: 5432})
		s.Service = &networkingv1.ServiceTemplate{ClusterIP: publication.ClusterIP(isHeadless)}
		return s
	}
	for _, to := range []bool{false, true} { // headless
		from := !to
		run := func(what string, k int, refuse func(*route, string) error, stays bool) {
			r := newRoute(t, spec(from))
			before := mustService(r.suite)
			r.edited(spec(to))
			r.left = k
			all := r.refuse
			r.refuse = func(write string) error {
				if err := refuse(r, write); err != nil {
					return err
				}
				return all(write)
			}
			for range 3 {
				r.step()
			}
			isAsBefore := func(when string) {
				if is := mustService(r.suite); is.Spec.ClusterIP != before.Spec.ClusterIP || r.reach().String() != r.before.String() {
					t.Errorf("headless %t to %t, %s, %s: the Service is %+v, clients reach %.200s", from, to, what, when, is.Spec, r.reach())
				}
			}
			if stays {
				isAsBefore("refused")
				if _, reason, message := r.ready(); reason != networkingv1.ReasonWriteRefused || !strings.Contains(message, "is frozen") {
					t.Errorf("headless %t to %t, %s: Ready is %s: %s", from, to, what, reason, message)
				}
				r.edited(spec(from))
				r.rest()
				isAsBefore("taken back")
				r.edited(spec(to))
			}
			r.restart()
			r.left, r.refuse = -1, all
			r.rest()
			is := mustService(r.suite)
			if publication.IsHeadless(is) != to || is.Spec.Type != corev1.ServiceTypeClusterIP || (is.UID != before.UID) != strings.HasPrefix(what, "no ExternalName") {
				t.Errorf("headless %t to %t, %s: in the end the Service %s is %+v, and was %s", from, to, what, is.UID, is.Spec, before.UID)
			}
		}
		frozen := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "db", errors.New("the namespace is frozen"))
		full := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "db", errors.New(refusal))
		refuse := func(what string, err error) func(*route, string) error {
			return func(_ *route, write string) error {
				if strings.HasPrefix(write, what) {
					return err
				}
				return nil
			}
		}
		for k := range 4 {
			run(fmt.Sprintf("%d writes", k), k, refuse("nothing", nil), false)
		}
		run("nothing is refused", -1, refuse("nothing", nil), false)
		run("a quota is used up", -1, refuse("create Service", full), false)
		run("creation is refused", -1, refuse("create Service", frozen), true)
		run("no ExternalName is let in", -1, refuse("patch Service", frozen), false)
		run("the new type is refused", -1, func(r *route, write string) error {
			if strings.HasPrefix(write, "apply Service") && publication.IsHeadless(&r.applied) == to {
				return frozen
			}
			return nil
		}, true)
		run("both are refused", -1, func(r *route, write string) error {
			return cmp.Or(refuse("create Service", full)(r, write), refuse("patch Service", frozen)(r, write))
		}, true)
	}
}

// manyPorts is a spec with as many addresses as need three slices.
func manyPorts(ports ...networkingv1.ServicePort) *networkingv1.ExternalServiceSpec {
	spec := &networkingv1.ExternalServiceSpec{Ports: ports, Endpoints: []networkingv1.Endpoint{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for i := range 210 {
		e := &spec.Endpoints[i%3]
		e.Addresses = append(e.Addresses, networkingv1.IPAddress(fmt.Sprintf("192.0.2.%d", i+1)))
	}
	return spec
}

// What the law is about, with many slices.
func TestPortsOfManyAddressesChangeSafely(t *testing.T) {
	type port = networkingv1.ServicePort
	before := []port{{Name: "http", Port: 80, TargetPort: new(int32(8080))}, {Name: "https", Port: 443, TargetPort: new(int32(8443))}}
	for name, after := range map[string][]port{
		"a port is renamed":        {{Name: "web", Port: 80, TargetPort: new(int32(8080))}, before[1]},
		"each is renamed":          {{Name: "a", Port: 80, TargetPort: new(int32(8080))}, {Name: "b", Port: 443, TargetPort: new(int32(8443))}},
		"two swap names":           {{Name: "https", Port: 80, TargetPort: new(int32(8080))}, {Name: "http", Port: 443, TargetPort: new(int32(8443))}},
		"one gets another's name":  {{Name: "https", Port: 80, TargetPort: new(int32(8080))}, {Name: "tls", Port: 443, TargetPort: new(int32(8443))}},
		"the number moves":         {{Name: "http", Port: 8081, TargetPort: new(int32(8080))}, before[1]},
		"number and target move":   {{Name: "http", Port: 8081}, before[1]},
		"the protocol is another":  {{Name: "http", Port: 80, TargetPort: new(int32(8080)), Protocol: new(corev1.ProtocolUDP)}, before[1]},
		"renamed, and one is gone": {{Name: "web", Port: 80, TargetPort: new(int32(8080))}},
		"renamed and retargeted":   {{Name: "web", Port: 80, TargetPort: new(int32(8081))}, before[1]},
	} {
		if wrong := checkPrefixes(t, manyPorts(before...), manyPorts(after...)); wrong != "" {
			t.Errorf("%s: %.2000s", name, wrong)
		}
	}
}
