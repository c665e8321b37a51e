// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
)

// explained is the text of why for an object.
func explained(t *testing.T, s *server, key Key) string {
	t.Helper()
	graph, o, err := ReadWith(t.Context(), s.client(t), key)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := graph.Explain(o).WriteText(&text, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// shop has a policy that waits for a reason, and what it names.
func shop(reason string) *server {
	return &server{objects: map[string][]client.Object{
		"externalservices": {database()}, "rebootpolicies": {payments(reason)}, "deployments": {deployment("api", 2)},
		"services": {serviceOf("sql")}, "endpointslices": {sliceOf("sql", "192.0.2.1")},
	}}
}

func want(t *testing.T, text string, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			t.Errorf("does not say %q:\n%s", w, text)
		}
	}
}

func TestWhyTellsWhatAPolicyWaitsForUntilWhenAndWhatOverridesIt(t *testing.T) {
	text := explained(t, shop(autorebootv1.ReasonOutsideWindow), Key{RebootPolicy, "shop", "payments"})
	want(t, text, "RebootPolicy shop/payments is Waiting.", "Waiting is True (OutsideWindow) since 2026-03-02T12:00:00Z (60m ago).",
		"Restart of Deployment api is Waiting (OutsideWindow) since 2026-03-02T12:00:00Z (60m ago) until 2026-03-02T22:00:00Z (in 9h).",
		"Asked for by trigger config (ConfigChange), first at 2026-03-02T12:00:00Z", "No window of the policy is open.",
		"`fairlead restart rebootpolicy/payments -n shop` overrides it, by the annotation autoreboot.fairlead.dev/restart-now.", "restarts, Deployment shop/api (Degraded: 2 of 3 pods available)")
}

func TestWhyOffersNoRequestThatAnObjectDoesNotActOn(t *testing.T) {
	for name, held := range map[string]metav1.Condition{
		"halted": condition("Stalled", "True", autorebootv1.ReasonTimedOut, "restarts failed"), "suspended": condition("Suspended", "True", "SuspendedBySpec", ""),
	} {
		t.Run(name, func(t *testing.T) {
			s, policy := shop(autorebootv1.ReasonCooldown), payments(autorebootv1.ReasonCooldown)
			policy.Status.Conditions = append(policy.Status.Conditions, held)
			if name == "halted" {
				policy.Status.Halt = &autorebootv1.Halt{Halt: common.Halt{Reason: held.Reason, Message: held.Message}}
			}
			s.objects["rebootpolicies"] = []client.Object{policy}
			text := explained(t, s, Key{RebootPolicy, "shop", "payments"})
			want(t, text, "No request overrides it while the object is suspended or stalled")
			if name == "halted" {
				want(t, text, "Run `fairlead retry rebootpolicy/payments -n shop`")
			}
			if strings.Contains(text, "`fairlead restart") {
				t.Errorf("it offers a restart:\n%s", text)
			}
		})
	}
}

func TestWhyTellsWhatIsWrongWithWhatAPolicyWaitsFor(t *testing.T) {
	text := explained(t, shop(autorebootv1.ReasonGateClosed), Key{RebootPolicy, "shop", "payments"})
	want(t, text, "No annotation overrides it: restart-now waits for it as well.", "ExternalService shop/db is Degraded. gate database:",
		"Healthy is False (Degraded)", "Address 192.0.2.2 of endpoint primary is Unhealthy (Refused)")
}

func TestWhyTellsOfEachAddressWhichCheckItFailsSinceWhenAndThatItTakesNoTraffic(t *testing.T) {
	text := explained(t, shop(autorebootv1.ReasonCooldown), Key{ExternalService, "shop", "db"})
	want(t, text, "Address 192.0.2.1 of endpoint primary is Healthy (Connected)", "published as ready",
		"Address 192.0.2.2 of endpoint primary is Unhealthy (Refused) since 2026-03-02T12:00:00Z",
		"Checked by tcpSocket every 10s, last at 2026-03-02T12:00:00Z, not ready, as its check fails.", "To do: Start the server, or correct the port.",
		"gate database of, RebootPolicy shop/payments (Waiting: Cooldown)")
}

func TestWhyTellsWhyAWorkloadIsNotRestarted(t *testing.T) {
	want(t, explained(t, shop(autorebootv1.ReasonBlackout), Key{"Deployment", "shop", "api"}),
		"Deployment shop/api is Degraded. It has 2 of 3 pods available.", "Restart of Deployment api by RebootPolicy payments is Waiting (Blackout)")
}

func TestWhyTellsHowManyRequestsFailedWhileAWorkloadRestarts(t *testing.T) {
	policy := payments(autorebootv1.ReasonCooldown)
	counts := common.RequestCounts{Sent: 1240, Failed: 3}
	policy.Status.InFlight = []autorebootv1.InFlightRestart{{
		ID: "a-2", Kind: common.WorkloadDeployment, Name: "api", Phase: autorebootv1.PhaseRollingOut, StartTime: &noon, PhaseTime: &noon,
		Triggers: []string{"config"}, RestartInternals: autorebootv1.RestartInternals{Probes: []common.ProbeRequests{{Name: "shop", RequestCounts: counts}}},
	}}
	policy.Status.History = []autorebootv1.RestartRecord{{
		Record: common.Record{ID: "a-1", Result: autorebootv1.ResultFailed, Reason: autorebootv1.ReasonProbesFailed, CompletionTime: &noon,
			Message: "3 of 1,240 requests failed while it restarted"},
		Target: common.WorkloadReference{Kind: common.WorkloadDeployment, Name: "api"}, Requests: &counts,
	}}
	s := shop(autorebootv1.ReasonCooldown)
	s.objects["rebootpolicies"] = []client.Object{policy}
	for _, key := range []Key{{RebootPolicy, "shop", "payments"}, {"Deployment", "shop", "api"}} {
		want(t, explained(t, s, key), "robe shop: 3 of 1240 requests had failed when the status was written.", "ProbesFailed",
			"3 of 1,240 requests failed while it restarted.", "terminationGracePeriodSeconds")
	}
}

func TestWhyTellsAMistakeInTheDependenciesOfAWorkload(t *testing.T) {
	s := shop(autorebootv1.ReasonBlackout)
	s.objects["deployments"][0].SetAnnotations(map[string]string{common.DependsOnAnnotation: "externalservice/db, db2"})
	want(t, explained(t, s, Key{"Deployment", "shop", "api"}), "depends on, ExternalService shop/db (Degraded",
		`Annotation fairlead.dev/depends-on: "db2" is not externalservice/ and the name of an ExternalService.`,
		"To do: Write externalservice/NAME, several separated by commas.")
}

func TestWhyTellsAMistakeInWhatAWorkloadIsRestartedFor(t *testing.T) {
	s := shop(autorebootv1.ReasonBlackout)
	s.objects["deployments"][0].SetAnnotations(map[string]string{common.RestartOnChangeAnnotation: "creds"})
	want(t, explained(t, s, Key{"Deployment", "shop", "api"}), `Annotation fairlead.dev/restart-on-change: "creds" is not`, "To do: Write true, false, configmap/NAME")
}

func TestWhyTellsWhichClusterRebootPolicyHasMadeAPolicy(t *testing.T) {
	s := shop(autorebootv1.ReasonBlackout)
	s.objects["rebootpolicies"][0].SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "autoreboot.fairlead.dev/v1", Kind: "ClusterRebootPolicy", Name: "on-change", Controller: ptr.To(true),
	}})
	want(t, explained(t, s, Key{RebootPolicy, "shop", "payments"}), "ClusterRebootPolicy on-change has made it", "To do: Change the template")
}

func TestAnEndpointThatDoesNotResolveSaysWhenItIsLookedUp(t *testing.T) {
	s := shop(autorebootv1.ReasonBlackout)
	next, es := metav1.NewTime(noon.Add(time.Hour)), database()
	e := &es.Status.Endpoints[0]
	e.DNSName, e.Reason, e.ResolvedTime, e.NextResolveTime = "db.example.com", networkingv1.ReasonNXDomain, &noon, &next
	s.objects["externalservices"] = []client.Object{es}
	want(t, explained(t, s, Key{ExternalService, "shop", "db"}),
		"Name db.example.com was last resolved at 2026-03-02T12:00:00Z, and is looked up next at 2026-03-02T13:00:00Z.")
}

func TestEachAddressThatTakesNoTrafficSaysWhy(t *testing.T) {
	one, drained := int32(1), networkingv1.EndpointDrained
	for expected, change := range map[string]func(es *networkingv1.ExternalService, a *networkingv1.AddressStatus){
		"published as ready": func(*networkingv1.ExternalService, *networkingv1.AddressStatus) {},
		"as its endpoint is drained": func(es *networkingv1.ExternalService, _ *networkingv1.AddressStatus) {
			es.Spec.Endpoints[0].State = &drained
		},
		"as its priority is 1, and 0 is published": func(es *networkingv1.ExternalService, _ *networkingv1.AddressStatus) {
			es.Spec.Endpoints[0].Priority = &one
		},
		"as no priority is":                   func(es *networkingv1.ExternalService, _ *networkingv1.AddressStatus) { es.Status.ActivePriority = nil },
		"the spec no longer has the endpoint": func(es *networkingv1.ExternalService, _ *networkingv1.AddressStatus) { es.Spec.Endpoints = nil },
		"as the egress policy refuses it": func(_ *networkingv1.ExternalService, a *networkingv1.AddressStatus) {
			a.Reason = networkingv1.ProbeDenied
		},
		"not ready before its first check": func(_ *networkingv1.ExternalService, a *networkingv1.AddressStatus) {
			a.Health = networkingv1.AddressUnknown
		},
		"not ready, as a fault is injected": func(es *networkingv1.ExternalService, _ *networkingv1.AddressStatus) {
			fault(es, networkingv1.FaultBlackHole)
		},
		"not published, as a fault is injected": func(es *networkingv1.ExternalService, _ *networkingv1.AddressStatus) {
			fault(es, networkingv1.FaultDrain)
		},
		"as no address is healthy (panicThresholdPercent)": func(es *networkingv1.ExternalService, a *networkingv1.AddressStatus) {
			a.Health = networkingv1.AddressUnhealthy
			es.Spec.Failover = &networkingv1.Failover{PanicThresholdPercent: &one}
			es.Status.Addresses = &networkingv1.AddressCounts{Total: 2, Published: 2}
		},
	} {
		es := database()
		change(es, &es.Status.Endpoints[0].Addresses[0])
		if got := traffic(es, &es.Status.Endpoints[0], &es.Status.Endpoints[0].Addresses[0]); !strings.Contains(got, expected) {
			t.Errorf("%q, want %q", got, expected)
		}
	}
}

func fault(es *networkingv1.ExternalService, of networkingv1.FaultType) {
	es.Status.Fault = &networkingv1.FaultStatus{Type: of, Endpoint: "primary", StartTime: &noon, DeadlineTime: noon}
}

func TestWhatCouldNotBeReadIsNamedAndNeverHealthy(t *testing.T) {
	s := shop(autorebootv1.ReasonGateClosed)
	s.refuse = map[string]*apierrors.StatusError{"externalservices": forbidden("externalservices"), "deployments": forbidden("deployments")}
	text := explained(t, s, Key{RebootPolicy, "shop", "payments"})
	want(t, text, "ExternalService shop/db is Unknown. gate database: Its state is unknown: it could not be read: you have no permission: "+
		"grant list on externalservices.networking.fairlead.dev in namespace shop.",
		"restarts, Deployment shop/api (Unknown: it could not be read", "Not known: externalservices.networking.fairlead.dev could not be read: you have no permission")
	if strings.Contains(text, string(Healthy)) {
		t.Errorf("something is called healthy:\n%s", text)
	}
}

func TestAnObjectThatNoOperatorHasObservedIsNotHealthy(t *testing.T) {
	fresh, edited := database(), database()
	fresh.Status = networkingv1.ExternalServiceStatus{ObservedGeneration: -1}
	edited.Generation, edited.Status.Conditions = 2, edited.Status.Conditions[:1]
	for _, o := range []client.Object{fresh, edited} {
		if health, said := healthOf(o); health != Unknown || said == "" {
			t.Errorf("%s: %s", health, said)
		}
	}
}

func TestWhatCannotBeExplainedIsOneSentenceWithARemedy(t *testing.T) {
	key := Key{RebootPolicy, "shop", "payments"}
	for expected, refusal := range map[string]*apierrors.StatusError{
		"there is no RebootPolicy shop/payments: name another":             nil,
		"grant get on rebootpolicies.autoreboot.fairlead.dev in namespace": forbidden("rebootpolicies"),
		"is not installed: install Fairlead":                               notServed(),
		"renew the credentials":                                            apierrors.NewUnauthorized("no"),
	} {
		s := &server{refuse: map[string]*apierrors.StatusError{"rebootpolicies": refusal}}
		if _, _, err := ReadWith(t.Context(), s.client(t), key); err == nil || !strings.Contains(err.Error(), expected) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, expected)
		}
	}
	for _, argument := range []string{"payments", "rebootpolicy/", "rebootpolicy/a/b", "pod/a", "/a"} {
		if _, err := ParseKey(argument, "shop"); err == nil {
			t.Errorf("%q is taken", argument)
		}
	}
}

func TestAnAPIServerThatIsAwayIsOneSentence(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := NewClient(&rest.Config{Host: "http://" + listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func(context.Context) error{
		"a list": func(ctx context.Context) error { _, err := Read(ctx, c, ""); return err },
		"a get":  func(ctx context.Context) error { _, err := Get(ctx, c, Key{RebootPolicy, "shop", "a"}); return err },
	} {
		if err := read(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "the API server does not answer (") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestEachKindIsListedOnceInPages(t *testing.T) {
	s := &server{objects: map[string][]client.Object{}}
	for i := range 2*pageSize + 1 {
		es := database()
		es.ObjectMeta = named(fmt.Sprintf("db-%d", i))
		s.objects["externalservices"] = append(s.objects["externalservices"], es)
	}
	all, err := Read(t.Context(), s.client(t), metav1.NamespaceAll)
	if err != nil || len(all.Objects) != 2*pageSize+1 || len(all.Unread) > 0 {
		t.Fatal(len(all.Objects), all.Unread, err)
	}
	if asked := int(s.asked.Load()); asked != len(kinds)+2 {
		t.Errorf("%d requests", asked)
	}
}
