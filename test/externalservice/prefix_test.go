// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/test/faultproxy"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// portEdit is an edit of ports. If it keeps its targets, it takes no endpoint away from a port and protocol.
type portEdit struct{ name, before, after string }

var portEdits = []portEdit{
	{"a port is renamed", `[{name: a, port: 80, targetPort: 8080}]`, `[{name: b, port: 80, targetPort: 8080}]`},
	{"two swap names", `[{name: a, port: 80, targetPort: 8080}, {name: b, port: 443, targetPort: 8443}]`, `[{name: b, port: 80, targetPort: 8080}, {name: a, port: 443, targetPort: 8443}]`},
	{"one gets another's name", `[{name: a, port: 80, targetPort: 8080}, {name: b, port: 443, targetPort: 8443}]`, `[{name: b, port: 80, targetPort: 8080}, {name: c, port: 443, targetPort: 8443}]`},
	{"one is added, one renamed", `[{name: a, port: 80, targetPort: 8080}]`, `[{name: c, port: 81}, {name: b, port: 80, targetPort: 8080}]`},
	{"the number moves", `[{name: a, port: 80}, {name: b, port: 443}]`, `[{name: a, port: 81}, {name: b, port: 443}]`},
}

// prefix is an edit with so many writes that the operator may make, before those of Services and slices are refused.
type prefix struct {
	portEdit
	writes int
}

// Law 11 of deciders: whatever edit of ports is carried out, and after which write the API server refuses all others, clients
// reach what the old spec and the new one have in common, and in the end what the new one says.
func TestEveryPrefixOfTheWritesOfAnEditIsSafe(t *testing.T) {
	common := newSuite(t)
	own := tests.OpenFor(t, framework.Options{Servers: common.Servers})
	proxy, err := faultproxy.Listen(own.Operator(), t.TempDir())
	common.Must(err)
	t.Cleanup(proxy.Close)
	_, err = own.StartReplica(t.Context(), append(framework.Patient(), "--kubeconfig="+proxy.Kubeconfig)...)
	common.Must(err)
	common.Must(own.Reachable(t.Context()))
	var all []prefix
	for _, edit := range portEdits {
		for k := range 8 {
			all = append(all, prefix{edit, k})
		}
	}
	for _, p := range framework.Sample(framework.NewSampler(t), 6, all) {
		t.Run(fmt.Sprintf("%s, %d writes", p.name, p.writes), func(t *testing.T) {
			s := &suite{framework.NewTest(t, own)}
			s.MayBeRefusedIn(s.Namespace)
			s.editsSafely(p, proxy)
		})
	}
}

func (s *suite) editsSafely(p prefix, proxy *faultproxy.Proxy) {
	s.Helper()
	spec := func(ports string) string {
		return fmt.Sprintf(`{ports: %s, endpoints: [{name: a, addresses: [192.0.2.1, 192.0.2.2]}]}`, ports)
	}
	s.apply("db", spec(p.before))
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	record := s.record()
	before := record.last()

	let := 0
	var mu sync.Mutex
	fault := proxy.Add(faultproxy.Fault{Answer: faultproxy.Status(http.StatusForbidden), Match: func(r faultproxy.Request) bool {
		if r.Namespace != s.Namespace || r.Resource != "services" && r.Resource != "endpointslices" || slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		let++
		return let > p.writes
	}})
	s.apply("db", spec(p.after))
	s.Eventually(func() error { // all is written, or the rest is refused
		es, err := s.get("db")
		if err == nil && es.Status.ObservedGeneration != es.Generation {
			err = fmt.Errorf("generation %d is observed, not %d", es.Status.ObservedGeneration, es.Generation)
		}
		return err
	})
	fault.Lift()
	s.condition("db", networkingv1.ConditionReady, metav1.ConditionTrue, networkingv1.ReasonPublished)
	states := record.all()
	after := states[len(states)-1]
	for i, is := range states {
		for port, targets := range before {
			for target := range targets {
				if after[port][target] && !is[port][target] {
					s.Errorf("after write %d: %s does not reach %s: %v", i, port, target, is)
				}
			}
		}
		for port, targets := range is {
			for target := range targets {
				if !before[port][target] && !after[port][target] {
					s.Errorf("after write %d: %s reaches %s: %v", i, port, target, is)
				}
			}
		}
	}
}

// join maps each port and protocol to the targets that kube-proxy sends to.
type join map[string]map[string]bool

// recording records the changes of the Service and the slices of a namespace.
type recording struct {
	*suite
	mu     sync.Mutex
	events []watch.Event
}

var (
	serviceResource = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	sliceResource   = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
)

// record begins to record, with what there is.
func (s *suite) record() *recording {
	s.Helper()
	r := &recording{suite: s}
	for _, resource := range []schema.GroupVersionResource{serviceResource, sliceResource} {
		watcher, err := s.Dynamic.Resource(resource).Namespace(s.Namespace).Watch(s.Context(), metav1.ListOptions{})
		s.Must(err)
		s.Cleanup(watcher.Stop)
		go func() {
			for event := range watcher.ResultChan() {
				r.mu.Lock()
				r.events = append(r.events, event)
				r.mu.Unlock()
			}
		}()
	}
	s.Eventually(func() error {
		if now := r.last(); len(now) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(now)), func(to map[string]bool) bool { return len(to) == 0 }) {
			return fmt.Errorf("the watches show %v", now)
		}
		return nil
	})
	return r
}

func (r *recording) last() join {
	if all := r.all(); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// all returns what clients reached after each write since the Service had endpoints first. Resource versions order the
// writes of both kinds.
func (r *recording) all() (states []join) {
	r.Helper()
	r.mu.Lock()
	events := slices.Clone(r.events)
	r.mu.Unlock()
	version := func(e watch.Event) int {
		n, _ := strconv.Atoi(e.Object.(*unstructured.Unstructured).GetResourceVersion())
		return n
	}
	slices.SortStableFunc(events, func(a, b watch.Event) int { return cmp.Compare(version(a), version(b)) })
	var service *corev1.Service
	all := map[string]*discoveryv1.EndpointSlice{}
	for _, event := range events {
		content := event.Object.(*unstructured.Unstructured)
		if content.GetKind() == "Service" {
			service = &corev1.Service{}
			r.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, service))
		} else {
			slice := &discoveryv1.EndpointSlice{}
			r.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, slice))
			if all[slice.Name] = slice; event.Type == watch.Deleted {
				delete(all, slice.Name)
			}
		}
		if is := joined(service, all); len(states) > 0 || strings.Contains(fmt.Sprint(is), "true") {
			states = append(states, is)
		}
	}
	return states
}

// joined finds the endpoints of each port by its name and protocol, as kube-proxy does.
func joined(service *corev1.Service, all map[string]*discoveryv1.EndpointSlice) join {
	out := join{}
	if service == nil {
		return out
	}
	for _, p := range service.Spec.Ports {
		to := map[string]bool{}
		for _, slice := range all {
			for _, of := range slice.Ports {
				if ptr.Deref(of.Name, "") != p.Name || ptr.Deref(of.Protocol, "") != p.Protocol {
					continue
				}
				for _, e := range slice.Endpoints {
					if ptr.Deref(e.Conditions.Ready, true) {
						to[fmt.Sprintf("%s:%d", e.Addresses[0], *of.Port)] = true
					}
				}
			}
		}
		out[fmt.Sprintf("%d/%s", p.Port, p.Protocol)] = to
	}
	return out
}
