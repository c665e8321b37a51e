// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/controllers/externalservice/resolution"
	"github.com/fairlead-dev/fairlead/internal/argorollouts"
	"github.com/fairlead-dev/fairlead/internal/dns"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/internal/probe"
)

// suite is a reconciler with its dependencies in memory. What a real API server does with the writes is for
// the integration tests.
type suite struct {
	testing.TB
	*Reconciler
	store  client.WithWatch
	names  *fakeResolution
	health *fakeProbes
	policy fakePolicy
	writes []string
	events []string
	now    time.Time
	// refusals are the API server's errors for a Service that comes with an address, one after another.
	refusals []string
	// refuse returns the error of a write, as "verb Kind name".
	refuse func(write string) error
	// applied is the Service as it was applied last.
	applied corev1.Service
	// created is how many Services and slices were created.
	created int
	// collectsGarbage has the slices of a Service go with it.
	collectsGarbage bool
	// afterWrite is called after each write that succeeds.
	afterWrite func()
}

// epoch is the time at which tests begin.
var epoch = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// Times that docs/decisions/health-and-failover.md promises.
const (
	firstStatusDelay = time.Second
	firstProbeHold   = time.Second
	maxUnhealthyHold = 30 * time.Second
	faultInterval    = 5 * time.Second
)

var objectKey = types.NamespacedName{Namespace: "shop", Name: "db"}

func newSuite(t testing.TB, spec string) *suite {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{argorollouts.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme, netv1.AddToScheme, networkingv1.AddToScheme, autorebootv1.AddToScheme, chaosv1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	s := &suite{TB: t, now: epoch, policy: fakePolicy{}}
	s.store = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&networkingv1.ExternalService{}).
		WithIndex(&discoveryv1.EndpointSlice{}, byService, serviceOf).Build(), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, given runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return s.wrote(s.fakeApply(ctx, c, given, opts...))
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if slices.Contains(opts, client.CreateOption(client.DryRunAll)) && s.refuse != nil {
				if err := s.refuse("create Service " + o.GetName()); err != nil {
					return err
				}
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := s.recordWrite("patch", o); err != nil {
				return err
			}
			return s.wrote(c.Patch(ctx, o, p, opts...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := s.recordWrite("patch "+sub, o); err != nil {
				return err
			}
			return s.wrote(c.SubResource(sub).Patch(ctx, o, p, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
			if err := s.recordWrite("delete", o); err != nil {
				return err
			}
			err := c.Delete(ctx, o)
			if service, ok := o.(*corev1.Service); ok && s.collectsGarbage {
				s.collectGarbage(ctx, c, service.UID)
			}
			return s.wrote(err)
		},
	})
	es := &networkingv1.ExternalService{ObjectMeta: metav1.ObjectMeta{Namespace: objectKey.Namespace, Name: objectKey.Name, UID: "1", Generation: 1}}
	if err := yaml.UnmarshalStrict([]byte(spec), &es.Spec); err != nil {
		t.Fatal(err)
	}
	s.must(s.store.Create(t.Context(), es))
	s.restart()
	return s
}

// restart is another process: it has forgotten everything that is not in the API server.
func (s *suite) restart() {
	s.names, s.health = &fakeResolution{answers: map[string][]string{}, reasons: map[string]string{}}, &fakeProbes{now: func() time.Time { return s.now }}
	s.Reconciler = newReconciler(Reconciler{
		Client: s.store, Live: s.store, Secrets: s.store, Events: (*fakeRecorder)(s), Now: func() time.Time { return s.now },
		Resolution: s.names, Probes: s.health, Policy: s.policy, DrainPeriod: 5 * time.Second,
	})
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// recordWrite returns the error of a write that is refused.
func (s *suite) recordWrite(verb string, o client.Object) error {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")
	write := fmt.Sprintf("%s %s %s", verb, kind, o.GetName())
	s.writes = append(s.writes, write)
	if s.refuse == nil {
		return nil
	}
	return s.refuse(write)
}

// wrote calls afterWrite after a write that has succeeded.
func (s *suite) wrote(err error) error {
	if err == nil && s.afterWrite != nil {
		s.afterWrite()
	}
	return err
}

// collectGarbage removes the slices of a Service that is deleted.
func (s *suite) collectGarbage(ctx context.Context, c client.Client, owner types.UID) {
	s.Helper()
	var list discoveryv1.EndpointSliceList
	s.must(c.List(ctx, &list))
	for i := range list.Items {
		if of := metav1.GetControllerOf(&list.Items[i]); of != nil && of.UID == owner {
			s.must(c.Delete(ctx, &list.Items[i]))
		}
	}
	var policies netv1.NetworkPolicyList
	s.must(c.List(ctx, &policies))
	for i := range policies.Items {
		if of := metav1.GetControllerOf(&policies.Items[i]); of != nil && of.UID == owner {
			s.must(c.Delete(ctx, &policies.Items[i]))
		}
	}
}

// fakeApply does what matters here of server-side apply: the whole object is ours, a version must be
// the present one, and no object has "1".
func (s *suite) fakeApply(ctx context.Context, c client.WithWatch, given runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	data, err := json.Marshal(given)
	if err != nil {
		return err
	}
	var kind metav1.PartialObjectMetadata
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	var object, current client.Object = &corev1.Service{}, &corev1.Service{}
	switch kind.Kind {
	case "EndpointSlice":
		object, current = &discoveryv1.EndpointSlice{}, &discoveryv1.EndpointSlice{}
	case "NetworkPolicy":
		object, current = &netv1.NetworkPolicy{}, &netv1.NetworkPolicy{}
	}
	if err := json.Unmarshal(data, object); err != nil {
		return err
	}
	if service, ok := object.(*corev1.Service); ok {
		service.DeepCopyInto(&s.applied)
	}
	if err := s.recordWrite("apply", object); err != nil {
		return err
	}
	err = c.Get(ctx, client.ObjectKeyFromObject(object), current)
	switch {
	case apierrors.IsNotFound(err):
		object.SetResourceVersion("")
		s.created++
		object.SetUID(types.UID(fmt.Sprintf("%d of %s", s.created, object.GetName())))
		if service, ok := object.(*corev1.Service); ok && service.Spec.ClusterIP != "" && len(s.refusals) > 0 {
			why := field.Invalid(field.NewPath("spec", "clusterIPs"), service.Spec.ClusterIPs, s.refusals[0])
			s.refusals = s.refusals[1:]
			return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, service.Name, field.ErrorList{why})
		}
		if service, ok := object.(*corev1.Service); ok && service.Spec.ClusterIP == "" {
			service.Spec.ClusterIP = "10.0.0.1"
		}
		err = c.Create(ctx, object)
	case err == nil && kind.ResourceVersion != current.GetResourceVersion():
		return apierrors.NewConflict(schema.GroupResource{Resource: kind.Kind}, kind.Name, errors.New("the version is another"))
	case err == nil:
		object.SetUID(current.GetUID())
		if service, ok := object.(*corev1.Service); ok {
			was := current.(*corev1.Service)
			switch { // immutable, except of an ExternalName
			case was.Spec.ClusterIP != "" && service.Spec.ClusterIP != "" && was.Spec.ClusterIP != service.Spec.ClusterIP:
				return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, service.Name, field.ErrorList{field.Invalid(field.NewPath("spec", "clusterIP"), service.Spec.ClusterIP, "may not change once set")})
			case was.Spec.ClusterIP != "":
				service.Spec.ClusterIP = was.Spec.ClusterIP
			case service.Spec.ClusterIP == "":
				service.Spec.ClusterIP = "10.0.0.1"
			}
		}
		err = c.Update(ctx, object)
	}
	if err != nil {
		return err
	}
	if data, err = json.Marshal(object); err != nil {
		return err
	}
	return json.Unmarshal(data, given)
}

// reconcileOnce runs the reconciler once. A status that it writes has each condition.
func (s *suite) reconcileOnce() reconcile.Result {
	s.Helper()
	result, err := s.Reconcile(s.Context(), reconcile.Request{NamespacedName: objectKey})
	s.must(err)
	var es networkingv1.ExternalService
	if s.must(client.IgnoreNotFound(s.store.Get(s.Context(), objectKey, &es))); len(es.Status.Conditions) > 0 {
		for _, kind := range []string{networkingv1.ConditionReady, networkingv1.ConditionResolved, networkingv1.ConditionHealthy,
			networkingv1.ConditionFailedOver, networkingv1.ConditionFaultInjected, networkingv1.ConditionWaiting, networkingv1.ConditionSuspended} {
			if meta.FindStatusCondition(es.Status.Conditions, kind) == nil {
				s.Errorf("%s is absent: %+v", kind, es.Status.Conditions)
			}
		}
	}
	return result
}

// reconcileUnchanged requires that nothing is written, and returns what is asked for.
func (s *suite) reconcileUnchanged(why string) reconcile.Result {
	s.Helper()
	s.writes, s.events = nil, nil
	result := s.reconcileOnce()
	if len(s.writes)+len(s.events) > 0 {
		s.Errorf("%s: wrote %q, told %q", why, s.writes, s.events)
	}
	return result
}

func (s *suite) object() *networkingv1.ExternalService {
	s.Helper()
	var es networkingv1.ExternalService
	s.must(s.store.Get(s.Context(), objectKey, &es))
	return &es
}

// edit changes the spec, as the API server would let a user.
func (s *suite) edit(change func(*networkingv1.ExternalService)) {
	s.Helper()
	es := s.object()
	change(es)
	es.Generation++
	s.must(s.store.Update(s.Context(), es))
}

// approvedBy is the edit by which admission notes that a user may publish the addresses as they are.
func approvedBy(user string) func(*networkingv1.ExternalService) {
	return func(es *networkingv1.ExternalService) {
		if es.Annotations == nil {
			es.Annotations = map[string]string{}
		}
		es.Annotations[common.ApprovedByAnnotation] = egress.Approval(es, user)
	}
}

// published are the addresses in all slices, each with + where it is ready.
func (s *suite) published() string {
	s.Helper()
	var list discoveryv1.EndpointSliceList
	s.must(s.store.List(s.Context(), &list, client.InNamespace(objectKey.Namespace)))
	var all []string
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			text := e.Addresses[0]
			if *e.Conditions.Ready {
				text += "+"
			}
			if *e.Conditions.Serving && !*e.Conditions.Ready {
				text += " serving"
			}
			if *e.Conditions.Terminating {
				text += " terminating"
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (s *suite) wantPublished(want string) {
	s.Helper()
	if got := s.published(); got != want {
		s.Errorf("published %q, want %q", got, want)
	}
}

// wantCondition requires a condition, as "True Reason", or "" for none.
func (s *suite) wantCondition(kind, want string) {
	s.Helper()
	got := ""
	if c := meta.FindStatusCondition(s.object().Status.Conditions, kind); c != nil {
		got = fmt.Sprintf("%s %s", c.Status, c.Reason)
	}
	if got != want {
		s.Errorf("%s is %q, want %q", kind, got, want)
	}
}

// wantEvents requires these events and no others since the last call, by reason.
func (s *suite) wantEvents(want ...string) {
	s.Helper()
	var got []string
	for _, e := range s.events {
		reason, _, _ := strings.Cut(e, ":")
		got = append(got, reason)
	}
	if !slices.Equal(got, want) {
		s.Errorf("events %q, want %q", s.events, want)
	}
	s.events = nil
}

func (s *suite) advance(d time.Duration) { s.now = s.now.Add(d) }

type fakeRecorder suite

func (f *fakeRecorder) Eventf(_, _ runtime.Object, _, reason, _, note string, args ...any) {
	f.events = append(f.events, reason+": "+fmt.Sprintf(note, args...))
}

func (f *fakeRecorder) AnnotatedEventf(_, _ runtime.Object, _ map[string]string, _, reason, _, note string, args ...any) {
	f.events = append(f.events, reason+": "+fmt.Sprintf(note, args...))
}

// fakeResolution returns the addresses that a test sets. A name without an answer was not looked up yet.
type fakeResolution struct {
	answers map[string][]string
	reasons map[string]string
	set     []resolution.Name
	seeds   map[string][]dns.Address
	left    resolution.State // what else is known of every name
}

func (f *fakeResolution) Set(_ types.NamespacedName, names []resolution.Name) []resolution.State {
	f.set = names
	if f.seeds == nil {
		f.seeds = map[string][]dns.Address{}
	}
	states := make([]resolution.State, 0, len(names))
	for _, name := range names {
		if _, known := f.seeds[name.Host]; !known {
			f.seeds[name.Host] = name.Seed
		}
		state := resolution.State{Addresses: f.seeds[name.Host], ResolvedTime: name.SeedTime}
		if answer, ok := f.answers[name.Host]; ok {
			state.Surplus, state.Denied, state.Failed, state.Kept = f.left.Surplus, f.left.Denied, f.left.Failed, f.left.Kept
			state.UnusedTargets, state.Partial = f.left.UnusedTargets, f.left.Partial
			state.LookedUp, state.Reason, state.ResolvedTime = true, networkingv1.ReasonResolved, epoch
			state.Addresses = nil
			for _, text := range answer {
				state.Addresses = append(state.Addresses, parseAddress(text))
			}
			if reason := f.reasons[name.Host]; reason != "" {
				state.Reason, state.Cause = reason, networkingv1.ReasonTimeout
			}
		}
		states = append(states, state)
	}
	return states
}

func (f *fakeResolution) Forget(types.NamespacedName) { f.set = nil }

func (f *fakeResolution) ResolvedTime(types.NamespacedName, resolution.Name) time.Time {
	return epoch
}

func parseAddress(text string) dns.Address {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return dns.Address{IP: at.Addr(), Port: at.Port()}
	}
	return dns.Address{IP: netip.MustParseAddr(text)}
}

// fakeProbes is a prober whose results a test gives.
type fakeProbes struct {
	now     func() time.Time
	known   map[string]probe.Health
	targets []probe.Target
	check   probe.Check
	suspect bool
}

func (f *fakeProbes) Set(_ types.NamespacedName, check probe.Check, targets []probe.Target) []probe.Health {
	if f.known == nil {
		f.known = map[string]probe.Health{}
	}
	f.targets, f.check = targets, check
	out := make([]probe.Health, 0, len(targets))
	for _, target := range targets {
		key := target.IP.String()
		health, known := f.known[key]
		if !known {
			health = probe.Health{State: networkingv1.AddressUnknown, Since: f.now()}
			if seed := target.Seed; seed != nil {
				health.State = seed.State
				if !seed.Since.IsZero() {
					health.Since = seed.Since
				}
			}
			f.known[key] = health
		}
		health.Age = f.now().Sub(health.Since)
		out = append(out, health)
	}
	return out
}

func (f *fakeProbes) Forget(types.NamespacedName)        { f.targets, f.known = nil, nil }
func (f *fakeProbes) IsFrozen(types.NamespacedName) bool { return f.suspect }

// setHealth gives an address a state. That it is of an endpoint is for the reader.
func (f *fakeProbes) setHealth(_, ip string, state networkingv1.AddressHealth) {
	reason := networkingv1.ProbeConnected
	if state == networkingv1.AddressUnhealthy {
		reason = networkingv1.ProbeRefused
	}
	if f.known == nil {
		f.known = map[string]probe.Health{}
	}
	before := f.known[ip]
	if before.State == networkingv1.AddressHealthy && state == networkingv1.AddressUnhealthy {
		before.Falls++
	}
	f.known[ip] = probe.Health{State: state, Since: f.now(), LastProbe: f.now(), Reason: reason, Falls: before.Falls}
}

// fakePolicy refuses the addresses in it.
type fakePolicy map[string]egress.Reason

func (p fakePolicy) CheckPorts(q egress.Query, _ []uint16) egress.Verdict {
	if reason, refused := p[q.IP.String()]; refused && (!q.Authorized || !reason.InCluster()) {
		return egress.Verdict{Reason: reason, Detail: "is refused by this test"}
	}
	return egress.Verdict{Allowed: true}
}

// wantHistory demands the history of the status, the latest first.
func (s *suite) wantHistory(want ...string) {
	s.Helper()
	var got []string
	for _, c := range s.object().Status.History {
		of := c.Type
		if c.FromPriority != nil && c.ToPriority != nil {
			of += fmt.Sprintf(" %d to %d", *c.FromPriority, *c.ToPriority)
		}
		got = append(got, of+" "+c.Result+" "+c.Reason+": "+c.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("history (-want +got):\n%s", diff)
	}
}
