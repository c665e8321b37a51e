// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	chaosv1 "github.com/fairlead-dev/fairlead/api/chaos/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/test/externalnet"
	"github.com/fairlead-dev/fairlead/test/framework"
)

// fieldTests are those that show fields of the spec acting.
var fieldTests = framework.FieldTests{
	"rebootpolicy.TestAPolicyThatIsSuspendedRemembersAndWaits":             {"suspend"},
	"rebootpolicy.TestADryRunTellsAndDoesNothing":                          {"dryRun"},
	"rebootpolicy.TestAServiceAccountRestartsWhatItMayAndNoMore":           {"serviceAccountName"},
	"rebootpolicy.TestAChangeRestartsWhateverRefersToItOnceAndNothingElse": {"targets.kind", "targets.selector", "triggers.name", "triggers.type"},
	"rebootpolicy.TestWavesRestartOneAfterTheOther":                        {"targets.name", "targets.wave"},
	"rebootpolicy.TestOnlyTheKeysThatAreListedCount": {
		"triggers.configChange.discovery", "triggers.configChange.sources.kind", "triggers.configChange.sources.name", "triggers.configChange.sources.keys",
	},
	"rebootpolicy.TestAClusterRebootPolicyReadsTheAnnotationsOfReloader": {"compatibility", "targets.optIn"},
	"rebootpolicy.TestWhatIsExcludedRestartsNothing": {
		"triggers.configChange.exclude.kind", "triggers.configChange.exclude.name", "triggers.configChange.exclude.selector",
		"triggers.configChange.exclude.keys",
	},
	"rebootpolicy.TestASourceThatAppearsOrGoesRestartsWhereThatIsAskedFor": {
		"triggers.configChange.onCreate", "triggers.configChange.onDelete", "triggers.configChange.sources.optional",
	},
	"rebootpolicy.TestAnUrgentChangeWaitsForNoWindowAndNoTurn":                              {"triggers.urgency"},
	"rebootpolicy.TestARenewalIsUrgentOnceWhatThePodsHoldIsAboutToExpire":                   {"triggers.certificateRenewal.secretName"},
	"rebootpolicy.TestAHostThatStopsAnsweringRestartsWhatDependsOnIt":                       {"triggers.probe.host", "triggers.probe.httpGet.port"},
	"rebootpolicy.TestAScheduleRestartsOnceEachTimeItFires":                                 {"triggers.schedule.cron"},
	"rebootpolicy.TestAnExternalServiceThatMovesRestartsItsClients":                         {"triggers.endpointsChange.externalServiceName", "triggers.endpointsChange.events"},
	"rebootpolicy.TestEvictionReplacesEveryPodOnceWithinTheBudgetAndLeavesTheTemplateAlone": {"strategy.type"},
	"rebootpolicy.TestABudgetThatAllowsNothingIsRespected":                                  {"strategy.evict.timeout"},
	"rebootpolicy.TestABurstOfChangesIsOneRestart":                                          {"debounce.quietPeriod"},
	"rebootpolicy.TestCooldownHoldsContentThatComesBackAndNoneThatIsNew":                    {"cooldown"},
	"rebootpolicy.TestTheLimitStopsAPolicyUntilAUserLooks":                                  {"limit.maxRestarts"},
	"rebootpolicy.TestARestartThatFailsIsTriedAgainAndThenHaltsThePolicy": {
		"retry.maxAttempts", "retry.backoff", "verification.maxContainerRestarts", "verification.onFailure",
	},
	"rebootpolicy.TestNeverMoreRestartAtOnceThanMayBe": {"concurrency.maxTargets"},
	"rebootpolicy.TestAGroupIsSharedByItsPolicies":     {"concurrency.group"},
	"rebootpolicy.TestARestartWaitsForItsWindowAndNoOtherWaitsForIt": {
		"windows.name", "windows.cron", "windows.duration", "blackouts.name", "blackouts.cron", "blackouts.duration",
	},
	"rebootpolicy.TestARestartWaitsBehindEveryClosedGate": {
		"gates.name", "gates.type", "gates.condition.apiVersion", "gates.condition.kind", "gates.condition.name", "gates.condition.type",
		"gates.noPods.selector",
	},
	"rebootpolicy.TestNoRestartBeginsWhileAQueryReturnsSomething": {"gates.prometheusQueryEmpty.query"},
	"rebootpolicy.TestARolloutThatDoesNotCompleteInTimeHasFailed": {"verification.timeout"},
	"rebootpolicy.TestAWorkloadThatDoesNotStayAvailableHasFailed": {"verification.soak"},
}

// fieldCase shows fields that no other test does, by a policy p whose spec is over quick. There are the Secret creds, and the
// Deployment web, of two pods, which takes it.
type fieldCase struct {
	fields []string
	spec   string
	acts   func(s *suite)
	edits  []edit // of web
	// takesMinutes leaves the case to long runs.
	takesMinutes bool
}

var web = targets(deployment, "web") + ", "

func fieldCases() []fieldCase {
	return slices.Concat(restraintCases(), triggerCases(), probeCases(), requestCases())
}

func restraintCases() []fieldCase {
	return []fieldCase{
		{fields: []string{"debounce.maxDelay"}, spec: web + onConfig + ", debounce: {quietPeriod: 5s, maxDelay: 8s}", acts: func(s *suite) {
			n := 0
			s.Pause = 500 * time.Millisecond
			s.Eventually(func() error { // the period is never quiet
				n++
				s.secret("creds", "password", fmt.Sprint(n))
				policy, err := s.get("p")
				if err == nil && len(policy.Status.InFlight)+len(policy.Status.History) == 0 {
					err = fmt.Errorf("not restarted after %d changes", n)
				}
				return err
			})
		}},
		{fields: []string{"historyLimit"}, spec: web + onConfig + ", historyLimit: 1", acts: func(s *suite) {
			for _, token := range []common.Token{"one", "two"} {
				s.annotate("p", autorebootv1.RestartNowAnnotation, string(token))
				s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
					if st.VerifiedRestartNow != token || len(st.History) != 1 {
						return fmt.Errorf("%q is verified, %d in the history", st.VerifiedRestartNow, len(st.History))
					}
					return nil
				})
			}
			s.restarted(deployment, "web", 2)
		}},
		{fields: []string{"limit.within"}, spec: web + onConfig + ", limit: {maxRestarts: 1, within: 5s}", acts: func(s *suite) {
			s.secret("creds", "password", "second")
			first := s.succeeded("p", 1)[0]
			s.Eventually(func() error {
				if since := time.Since(first.StartTime.Time); since < 6*time.Second {
					return fmt.Errorf("%s since the first restart", since)
				}
				return nil
			})
			s.secret("creds", "password", "third")
			s.succeeded("p", 2)
			s.without("p", autorebootv1.ConditionStalled)
		}},
		{fields: []string{"retry.maxBackoff"}, spec: web + onConfig + ", retry: {maxAttempts: 4, backoff: 2s, maxBackoff: 2s}, verification: {" + patient + "}", edits: []edit{faulty("crash-once")}, acts: func(s *suite) {
			s.secret("creds", "password", "second")
			s.condition("p", autorebootv1.ConditionStalled, metav1.ConditionTrue, autorebootv1.ReasonVerificationFailed)
			history := s.ended("p", 5)
			if waited := history[0].StartTime.Sub(history[1].CompletionTime.Time); waited >= 16*time.Second {
				s.Errorf("the last try came %s after the one before", waited)
			}
		}},
		{fields: []string{"retry.resetAfter"}, spec: web + onConfig + ", retry: {maxAttempts: 0, resetAfter: 2s}, verification: {" + patient + ", onFailure: Continue}", edits: []edit{faulty("crash-once")}, acts: func(s *suite) {
			s.secret("creds", "password", "second")
			if history := s.ended("p", 1); history[0].Result != autorebootv1.ResultFailed {
				s.Errorf("%s", framework.Text(history))
			}
			s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
				if st.Targets[0].Attempts != 0 {
					return fmt.Errorf("%d attempts", st.Targets[0].Attempts)
				}
				return nil
			})
		}},
		{fields: []string{"strategy.evict.maxUnavailable"}, spec: web + onConfig + ", strategy: {type: Evict, evict: {maxUnavailable: 100%}}", edits: []edit{slow("3s")}, acts: func(s *suite) {
			pods := s.watchPods("web")
			s.secret("creds", "password", "second")
			s.succeeded("p", 1)
			if seen, fewest := pods.figures(); seen != 4 || fewest != 0 {
				s.Errorf("%d pods, as few as %d ready", seen, fewest)
			}
		}},
		{fields: []string{"windows.timeZone", "blackouts.timeZone"}, spec: web + onConfig + ", suspend: true", acts: func(s *suite) {
			// Of an hour that is half an hour old, and more than five hours away in UTC.
			hour := fmt.Sprintf("[{name: hour, cron: %q, timeZone: Asia/Kolkata, duration: 1h}]", s.Daily(time.Now().Add(-30*time.Minute), "Asia/Kolkata"))
			s.set("p", "{suspend: false, blackouts: "+hour+"}")
			s.secret("creds", "password", "second")
			s.held("p", "web", autorebootv1.ReasonBlackout)
			s.set("p", "{blackouts: null, windows: "+hour+"}")
			s.succeeded("p", 1)
		}},
		{fields: []string{"gates.condition.status", "gates.condition.maxAge"}, spec: web + onConfig + ", suspend: true", acts: func(s *suite) {
			s.Make(`{apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, metadata: {name: c}, spec: {dryRun: false, target: {workload: {kind: Deployment, name: web}},
				schedule: {cron: "0 0 29 2 *"}, filter: {minAge: 0s}, verification: {soak: 0s}}}`)
			s.Merge(chaosv1.GroupVersion.String(), "ChaosPod", "c", fmt.Sprintf("{metadata: {annotations: {%q: %q}}}", chaosv1.RunNowAnnotation, "1"))
			s.Eventually(func() error {
				var c chaosv1.ChaosPod
				err := s.Get("c", &c)
				if err == nil && (len(c.Status.History) == 0 || c.Status.History[0].Result != chaosv1.ResultSurvived) {
					err = fmt.Errorf("want the run survived: %s", framework.Text(c.Status))
				}
				return err
			})
			s.set("p", "{suspend: false, gates: [{name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived, maxAge: 1s}}]}")
			s.secret("creds", "password", "second")
			s.held("p", "web", autorebootv1.ReasonGateClosed)
			s.set("p", "{gates: [{name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived, status: \"False\"}}]}")
			s.held("p", "web", autorebootv1.ReasonGateClosed)
			s.set("p", "{gates: [{name: survived, type: Condition, condition: {apiVersion: chaos.fairlead.dev/v1, kind: ChaosPod, name: c, type: Survived, status: \"True\", maxAge: 24h}}]}")
			s.succeeded("p", 1)
		}},
	}
}

func triggerCases() []fieldCase {
	return []fieldCase{
		{fields: []string{"targets.group"}, spec: "targets: [{group: apps, selector: {}}], " + onConfig, acts: func(s *suite) {
			s.secret("creds", "password", "second")
			s.succeeded("p", 1)
		}},
		{fields: []string{"triggers.description"}, spec: web + `suspend: true, triggers: [{name: stuck, description: when it is stuck, type: Probe, probe: {tcpSocket: {port: 1}}}]`, acts: func(s *suite) {
			old := s.Object("{apiVersion: autoreboot.fairlead.dev/v1alpha1, kind: RebootPolicy, metadata: {name: p}}")
			s.Must(s.Client.Get(s.Context(), objectKey(old), old))
			s.Expect(framework.Text(old.Object["spec"]), `"description":"when it is stuck"`)
		}},
		{fields: []string{"triggers.configChange.sources.selector"}, spec: web + `triggers: [{name: config, type: ConfigChange,
			configChange: {discovery: Explicit, sources: [{kind: Secret, selector: {matchLabels: {restart: web}}}]}}]`, acts: func(s *suite) {
			s.secret("creds", "password", "second")
			s.Never(func() error { return s.quiet("p", 0) }) // it has no label
			s.secret("chosen", "password", "first")
			s.Merge("v1", "Secret", "chosen", "{metadata: {labels: {restart: web}}}")
			s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
				if !slices.ContainsFunc(st.Targets[0].Baselines, func(b autorebootv1.Baseline) bool { return b.Source == "Secret/chosen" }) {
					return fmt.Errorf("the source is not known")
				}
				return nil
			})
			s.Merge("v1", "Secret", "chosen", "{stringData: {password: second}}")
			s.succeeded("p", 1)
		}},
		{fields: []string{"triggers.certificateRenewal.key"}, spec: web + `triggers: [{name: tls, type: CertificateRenewal, certificateRenewal: {secretName: creds, key: server.pem}}]`, acts: func(s *suite) {
			for i := range 2 {
				cert, _ := s.certificate(time.Hour)
				s.secret("creds", "server.pem", cert)
				s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
					if st.Triggers[0].State == autorebootv1.TriggerUnknown || len(st.History) < i {
						return fmt.Errorf("the certificate is not known")
					}
					return nil
				})
			}
			s.succeeded("p", 1)
		}},
		{fields: []string{"triggers.schedule.timeZone"}, spec: web + onConfig + ", suspend: true", acts: func(s *suite) {
			cron := s.Daily(time.Now().Add(75*time.Second), "Asia/Kolkata")
			s.set("p", fmt.Sprintf("{suspend: false, triggers: [{name: daily, type: Schedule, schedule: {timeZone: Asia/Kolkata, cron: %q}}]}", cron))
			s.succeeded("p", 1)
		}},
		{fields: []string{"triggers.schedule.startingDeadline"}, spec: web + `triggers: [{name: often, type: Schedule, schedule: {cron: "* * * * *", startingDeadline: 1s}}], windows: [{name: someday, cron: "0 0 29 2 *", duration: 1h}]`, acts: func(s *suite) {
			s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
				if len(st.History) == 0 || st.History[0].Reason != autorebootv1.ReasonStartingDeadline {
					return fmt.Errorf("no run has missed its deadline")
				}
				return nil
			})
			s.restarted(deployment, "web", 0)
		}},
		{fields: []string{"triggers.podAge.max", "triggers.podAge.jitterPercent"}, spec: web + `triggers: [{name: old, type: PodAge, podAge: {max: 10m, jitterPercent: 50}}]`, takesMinutes: true, acts: func(s *suite) {
			s.Patience = 12 * time.Minute
			oldest := s.pods("web")[0].CreationTimestamp.Time
			if age := s.succeeded("p", 1)[0].StartTime.Sub(oldest); age < 5*time.Minute || age >= 10*time.Minute {
				s.Errorf("restarted at the age of %s", age)
			}
		}},
	}
}

// probeCases check hosts, and pods where that matters.
func probeCases() []fieldCase {
	const often = "interval: 1s, timeout: 1s, failureThreshold: 2"
	probes := func(s *suite, probe string) {
		s.Helper()
		s.set("p", "{suspend: false, cooldown: 1h, triggers: [{name: stuck, type: Probe, probe: {"+probe+"}}]}")
	}
	suspended := web + onConfig + ", suspend: true"
	return []fieldCase{
		{fields: []string{"triggers.probe.grpc.port", "triggers.probe.grpc.service", "triggers.probe.grpc.authority"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			server := s.server(s.Servers.GRPC(address + ":7000"))
			probes(s, "host: "+address+", grpc: {port: 7000, service: shop, authority: shop.example.org}, "+often)
			s.Eventually(func() error {
				if latest := server.Counts().Latest; len(latest) == 0 || latest[0].Path != "shop" || latest[0].Host != "shop.example.org" {
					return fmt.Errorf("requests %+v", latest)
				}
				return nil
			})
		}},
		{fields: []string{"triggers.probe.tcpSocket.port"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			server := s.server(s.Servers.TCP(address + ":7000"))
			probes(s, "host: "+address+", tcpSocket: {port: 7000}, "+often)
			s.asked(server)
		}},
		{fields: []string{"triggers.probe.httpGet.scheme", "triggers.probe.httpGet.path", "triggers.probe.httpGet.hostHeader"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			server := s.server(s.Servers.HTTPS(address + ":7000"))
			probes(s, "host: "+address+", httpGet: {port: 7000, scheme: HTTPS, path: /live, hostHeader: shop.example.org}, "+often)
			s.Eventually(func() error {
				if latest := server.Counts().Latest; len(latest) == 0 || latest[0].Path != "/live" || latest[0].Host != "shop.example.org" {
					return fmt.Errorf("requests %+v", latest)
				}
				return nil
			})
		}},
		{fields: []string{"triggers.probe.httpGet.httpHeaders.name", "triggers.probe.httpGet.httpHeaders.value"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			seen := s.headers(address + ":7000")
			probes(s, "host: "+address+", httpGet: {port: 7000, httpHeaders: [{name: X-Tenant, value: shop}]}, "+often)
			select {
			case header := <-seen:
				if got := header.Get("X-Tenant"); got != "shop" {
					s.Errorf("X-Tenant is %q", got)
				}
			case <-time.After(framework.Patience):
				s.Fatal("no request came")
			}
		}},
		{fields: []string{"triggers.probe.httpGet.expectedStatuses.start", "triggers.probe.httpGet.expectedStatuses.end"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			s.Must(s.server(s.Servers.HTTP(address + ":7000")).Set(externalnet.Behavior{Status: 404}))
			probes(s, "host: "+address+", httpGet: {port: 7000, expectedStatuses: [{start: 404, end: 404}]}, "+often)
			s.answered("p")
		}},
		{fields: []string{"triggers.probe.tls.serverName", "triggers.probe.tls.caSecretName", "triggers.probe.tls.insecureSkipVerify"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			server := s.server(s.Servers.HTTPS(address+":7000", "shop.example.org"))
			check := func(tls string) { probes(s, "host: "+address+", httpGet: {port: 7000}, tls: {"+tls+"}, "+often) }
			unavailable := func(words string) {
				s.condition("p", autorebootv1.ConditionReady, metav1.ConditionFalse, autorebootv1.ReasonProbeUnavailable)
				s.explains("p", autorebootv1.ConditionReady, words)
			}
			check("serverName: shop.example.org, caSecretName: ca")
			unavailable("Secret ca, which probe.tls.caSecretName names, does not exist")
			check("serverName: shop.example.org") // no root of the system has signed it
			unavailable("never answered")
			check("insecureSkipVerify: true")
			s.answered("p")
			s.secret("ca", "ca.crt", string(s.Servers.CA.PEM()))
			probes(s, "host: "+address+", httpGet: {port: 7000, path: /verified}, tls: {serverName: shop.example.org, caSecretName: ca}, "+often)
			s.Eventually(func() error {
				if !slices.ContainsFunc(server.Counts().Latest, func(r externalnet.Request) bool { return r.Path == "/verified" && r.ServerName == "shop.example.org" }) {
					return fmt.Errorf("requests %+v", server.Counts().Latest)
				}
				return nil
			})
		}},
		{fields: []string{"triggers.probe.tcpSocket.steps.send", "triggers.probe.tcpSocket.steps.expect", "triggers.probe.tcpSocket.steps.sendFrom.prefix",
			"triggers.probe.tcpSocket.steps.sendFrom.suffix", "triggers.probe.tcpSocket.steps.sendFrom.secretKeyRef.name", "triggers.probe.tcpSocket.steps.sendFrom.secretKeyRef.key",
			"triggers.probe.tls.clientCertificateSecretName"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			own, err := s.Servers.CA.Issue(time.Now().Add(time.Hour), address)
			s.Must(err)
			server := s.member(externalnet.Redis(address+":7000", "master", "hidden", &tls.Config{
				Certificates: []tls.Certificate{*own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: s.Servers.CA.Pool(), MinVersion: tls.VersionTLS12,
			}))
			certificate, key, err := s.Servers.CA.Client("checks.example.com")
			s.Must(err)
			s.secret("login", "password", "hidden", "tls.crt", string(certificate), "tls.key", string(key), "ca.crt", string(s.Servers.CA.PEM()))
			probes(s, "host: "+address+`, tcpSocket: {port: 7000, steps: [{sendFrom: {prefix: 'AUTH ', secretKeyRef: {name: login, key: password}, suffix: '\r\n'}, expect: OK}, {send: 'ROLE\r\n', expect: master}]}, tls: {caSecretName: login, clientCertificateSecretName: login}, `+often)
			s.answered("p")
			if got := server.Received(); !slices.Contains(got, "CERT checks.example.com") || !slices.Contains(got, "ROLE") {
				s.Errorf("received %q", got)
			}
		}},
		{fields: []string{"triggers.probe.httpGet.method", "triggers.probe.httpGet.expectedBody"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			server := s.member(externalnet.Patroni(address+":7000", "primary"))
			probes(s, "host: "+address+`, httpGet: {port: 7000, path: /health, expectedBody: '"role": "replica"'}, `+often)
			s.Eventually(func() error {
				if !slices.Contains(server.Received(), "GET /health") {
					return errors.New("no request came")
				}
				return nil
			})
			s.explains("p", autorebootv1.ConditionReady, "never answered")
			probes(s, "host: "+address+", httpGet: {port: 7000, path: /primary, method: OPTIONS}, "+often)
			s.answered("p")
			if got := server.Received(); !slices.Contains(got, "OPTIONS /primary") {
				s.Errorf("received %q", got)
			}
		}},
		{fields: []string{"triggers.probe.interval"}, spec: suspended, acts: func(s *suite) {
			address := s.Servers.Address()
			server := s.server(s.Servers.TCP(address + ":7000"))
			probes(s, "host: "+address+", tcpSocket: {port: 7000}, interval: 2s, timeout: 1s")
			s.Eventually(func() error { // by default it is 30s
				if at := server.Counts().Connected; len(at) < 4 || at[3].Sub(at[0]) < 5*time.Second || at[3].Sub(at[0]) > time.Minute {
					return fmt.Errorf("connected at %v", at)
				}
				return nil
			})
		}},
		{fields: []string{"triggers.probe.timeout", "triggers.probe.failureThreshold", "triggers.probe.successThreshold"}, spec: suspended, acts: func(s *suite) {
			s.amongWell(s.answers())
			address := s.Servers.Address()
			server := s.server(s.Servers.HTTP(address + ":7000"))
			window, _ := far()
			s.set("p", "{windows: "+window+"}")
			probes(s, "host: "+address+", httpGet: {port: 7000}, interval: 2s, timeout: 1s, failureThreshold: 1, successThreshold: 3")
			s.answered("p")
			before := server.Counts().Requests
			s.Must(server.Set(externalnet.Behavior{Delay: 1500 * time.Millisecond}))
			s.held("p", "web", autorebootv1.ReasonOutsideWindow)
			if n := server.Counts().Requests - before; n > 4 { // by default it takes five failures
				s.Errorf("%d requests until it fired", n)
			}
			s.Must(server.Set(externalnet.Behavior{}))
			before = server.Counts().Requests
			s.Eventually(func() error { return s.quiet("p", 0) })
			if n := server.Counts().Requests - before; n < 3 {
				s.Errorf("%d requests until it recovered", n)
			}
		}},
		{fields: []string{"triggers.probe.minUnhealthy"}, spec: suspended, edits: []edit{replicas(4), surge(4)}, acts: func(s *suite) {
			fleet := s.answers()
			s.amongWell(fleet)
			probes(s, fmt.Sprintf("httpGet: {port: %d}, %s, minUnhealthy: 1", fleet.Port(), often))
			sick := s.ips("web")
			s.checked(fleet, sick, 1)
			s.answered("p")
			s.Must(fleet.Fail(sick[0]))
			s.succeeded("p", 1)
			s.restarted(deployment, "web", 1)
		}},
	}
}

// asked waits until a server had a connection.
func (s *suite) asked(server *externalnet.Server) {
	s.Helper()
	s.Eventually(func() error {
		if server.Counts().Connections == 0 {
			return fmt.Errorf("no connection came")
		}
		return nil
	})
}

// headers serves HTTP at an address outside until the test ends, and returns the headers of the first request.
func (s *suite) headers(at string) <-chan http.Header {
	s.Helper()
	seen, stop, err := externalnet.Headers(at)
	s.Must(err)
	s.Cleanup(stop)
	s.Cleanup(s.forget)
	return seen
}

func TestEachFieldOfTheSpecActs(t *testing.T) {
	t.Parallel()
	cases := slices.DeleteFunc(fieldCases(), func(c fieldCase) bool { return c.takesMinutes && !framework.Long() })
	for _, c := range framework.Sample(framework.NewSampler(t), 6, cases) {
		t.Run(strings.Join(c.fields, " "), func(t *testing.T) {
			t.Parallel()
			s := newSuite(t)
			s.secret("creds", "password", "first")
			s.run(deployment, "web", takes("creds"), append([]edit{replicas(2)}, c.edits...)...)
			s.policy("p", "{"+c.spec+"}")
			s.shows("p", func(st autorebootv1.RebootPolicyStatus) error {
				if len(st.Targets) != 1 {
					return fmt.Errorf("the target is not known yet")
				}
				return nil
			})
			c.acts(s)
		})
	}
}

func TestEachFieldOfTheSpecHasATest(t *testing.T) {
	t.Parallel()
	var fields []string
	for _, c := range fieldCases() {
		fields = append(fields, c.fields...)
	}
	fieldTests.Check(t, "autoreboot.fairlead.dev_rebootpolicies.yaml", autorebootv1.GroupVersion.Version, fields...)
}
