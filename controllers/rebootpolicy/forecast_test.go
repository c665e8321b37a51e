// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/fingerprint"
	"github.com/fairlead-dev/fairlead/controllers/rebootpolicy/sources"
	"github.com/fairlead-dev/fairlead/internal/disruption"
)

// foreseen returns the forecast of a change of Secret creds.
func (s *suite) foreseen(keys ...string) *Forecast {
	s.Helper()
	key, err := fingerprint.NewKey(bytes.Repeat([]byte{1}, fingerprint.Size))
	s.must(err)
	ref := sources.Ref{Kind: autorebootv1.SourceSecret, Namespace: "shop", Name: "creds"}
	before := sources.NewAssumed(key, nil)
	before.Add(ref, &metav1.ObjectMeta{}, map[string][]byte{"user": []byte("a"), "password": []byte("b")}, false)
	after := sources.NewAssumed(key, before)
	after.Add(ref, &metav1.ObjectMeta{}, map[string][]byte{"user": []byte("a"), "password": []byte("b")}, false)
	after.Set(ref, keys, []byte("c"))
	ledger := disruption.New(disruption.Options{})
	s.must(Restore(s.Context(), s.store, ledger))
	policy := s.object()
	f, err := Foresee(s.Context(), ForecastOptions{Now: s.now, Key: key, Ledger: ledger},
		Side{policy, s.store, before}, Side{policy, s.store, after})
	s.must(err)
	return f
}

// What is foreseen is what a reconcile after the change does: the same restarts wait, each for the first of its holds.
func TestAForecastIsWhatTheControllerDoes(t *testing.T) {
	for name, test := range map[string]struct {
		spec  string
		setup func(*suite)
		want  []string // restarts in their order
	}{
		"it waits for further changes": {spec: config, want: []string{"api"}},
		"all targets of two waves": {spec: `
targets: [{kind: Deployment, name: api, wave: 1}, {kind: Deployment, name: web}]
triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds}]}}]
`, want: []string{"web", "api"}},
		"suspended":           {spec: config + "suspend: true\n", want: []string{"api"}},
		"a dry run":           {spec: config + "dryRun: true\n", want: []string{"api"}},
		"a window":            {spec: config + "windows: [{name: night, cron: '0 2 * * *', duration: 1h}]\n", want: []string{"api"}},
		"a gate":              {spec: config + "gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]\n", want: []string{"api"}},
		"another key counts":  {spec: `{targets: [{kind: Deployment, name: api}], triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds, keys: [user]}]}}]}`},
		"the key is excluded": {spec: `{targets: [{kind: Deployment, name: api}], triggers: [{name: config, type: ConfigChange, configChange: {discovery: Explicit, sources: [{kind: Secret, name: creds}], exclude: [{kind: Secret, name: creds, keys: [password]}]}}]}`},
		"only what is referred to": {spec: `{targets: [{kind: Deployment, selector: {}}], triggers: [{name: config, type: ConfigChange}]}`, want: []string{"web"},
			setup: func(s *suite) {
				var d appsv1.Deployment
				s.must(s.store.Get(s.Context(), policyKeyOf("web"), &d))
				d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "creds"}}}}}}
				s.must(s.store.Update(s.Context(), &d))
				s.must(s.store.Create(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "creds"}}))
			}},
		"scaled to zero": {spec: config, want: []string{"api"}, setup: func(s *suite) {
			var d appsv1.Deployment
			s.must(s.store.Get(s.Context(), policyKeyOf("api"), &d))
			d.Spec.Replicas = ptr.To(int32(0))
			s.must(s.store.Update(s.Context(), &d))
		}},
		"evictions": {spec: config + "strategy: {type: Evict}\n", want: []string{"api"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSuite(t, test.spec, slices.Concat(deployment("api", 2, nil), deployment("web", 2, nil))...)
			if test.setup != nil {
				test.setup(s)
			}
			s.reconcile()
			f := s.foreseen("password")
			var names []string
			for _, r := range f.Restarts {
				names = append(names, r.Target.Name)
			}
			if !slices.Equal(names, test.want) {
				t.Fatalf("%q would restart, want %q", names, test.want)
			}
			if len(test.want) > 0 {
				s.changeSource("Secret/creds", "hmac:2")
			}
			s.reconcile()
			status := s.object().Status
			for _, target := range status.Targets {
				at := slices.IndexFunc(f.Restarts, func(r ForeseenRestart) bool { return r.Target.Name == target.Name })
				switch {
				case (target.Pending != nil) != (at >= 0):
					t.Errorf("%s: pending %+v, foreseen %+v", target.Name, target.Pending, f.Restarts)
				case at >= 0 && (len(f.Restarts[at].Holds) == 0 || f.Restarts[at].Holds[0].Reason != target.Pending.Reason):
					t.Errorf("%s waits for %s, foreseen %+v", target.Name, target.Pending.Reason, f.Restarts[at].Holds)
				}
			}
			if len(status.InFlight) > 0 {
				t.Errorf("%+v is in flight before the quiet period", status.InFlight)
			}
			for _, r := range f.Restarts { // and it starts when it was foreseen, where that is a matter of time
				if r.Waits {
					continue
				}
				s.now = r.Starts
				s.reconcile()
				if !slices.ContainsFunc(s.object().Status.InFlight, func(f autorebootv1.InFlightRestart) bool { return f.Name == r.Target.Name }) {
					t.Errorf("%s does not start at %s: %+v", r.Target.Name, r.Starts, s.object().Status)
				}
			}
		})
	}
}

func TestAForecastNamesEachHoldAndWhenItEnds(t *testing.T) {
	s := newSuite(t, config+`
suspend: true
windows: [{name: night, cron: '0 2 * * *', duration: 1h}]
blackouts: [{name: freeze, cron: '0 14 * * *', duration: 24h}]
gates: [{name: db, type: Condition, condition: {apiVersion: networking.fairlead.dev/v1, kind: ExternalService, name: db, type: Healthy}}]
`, deployment("api", 2, nil)...)
	s.reconcile()
	f := s.foreseen("password")
	if len(f.Restarts) != 1 || !slices.Equal(f.Watched, []string{"Secret/creds", "Secret/creds"}) {
		t.Fatalf("%+v", f)
	}
	r := f.Restarts[0]
	var reasons []string
	for _, h := range r.Holds {
		reasons = append(reasons, h.Reason)
	}
	if want := []string{"Suspended", "Debouncing", "Blackout", "GateClosed"}; !slices.Equal(reasons, want) {
		t.Errorf("%q, want %q", reasons, want)
	}
	if source := r.Sources[0]; source.Trigger != "config" || source.Source != "Secret/creds" || !slices.Equal(source.Keys, []string{"password"}) {
		t.Errorf("%+v", source)
	}
	if !r.Waits {
		t.Error("a policy that is suspended and has a closed gate starts by time alone")
	}
}

// A window that is open now may have closed when something else ends.
func TestAForecastLooksForAWindowThatIsOpenWhenNothingElseHolds(t *testing.T) {
	spec := strings.Replace(config, "quietPeriod: 15s", "quietPeriod: 10m, maxDelay: 10m", 1)
	s := newSuite(t, spec+"windows: [{name: afternoon, cron: '0 13 * * *', duration: 61m}]\n", deployment("api", 2, nil)...)
	s.reconcile()
	r := s.foreseen("password").Restarts[0]
	if want := time.Date(2026, time.March, 3, 13, 0, 0, 0, time.UTC); !r.Starts.Equal(want) || r.Window != "afternoon" || r.Waits {
		t.Errorf("it starts at %s in %q (%v), want %s", r.Starts, r.Window, r.Waits, want)
	}
}

// What waits for the same trigger already is asked for, and stays asked for.
func TestAForecastHasWhatWaitsAlready(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.changeSource("Secret/creds", "hmac:2")
	s.reconcile()
	if f := s.foreseen("password"); len(f.Restarts) != 1 {
		t.Errorf("%+v", f)
	}
	s.advance(time.Minute)
	s.reconcile() // it is in flight
	f := s.foreseen("password")
	if len(f.Restarts) != 1 || f.Restarts[0].Holds[0].Reason != autorebootv1.ReasonRolloutInProgress {
		t.Errorf("%+v", f)
	}
	if f := s.foreseen(); len(f.Restarts) != 0 {
		t.Errorf("nothing changes, and %+v", f.Restarts)
	}
}

func TestAForecastOfAPolicyThatIsNotApprovedSaysSo(t *testing.T) {
	s := newSuite(t, config, deployment("api", 2, nil)...)
	s.reconcile()
	s.editUnapproved(func(p *autorebootv1.RebootPolicy) { p.Annotations = nil })
	r := s.foreseen("password").Restarts[0]
	if r.Holds[0].Reason != autorebootv1.ReasonForbidden || !r.Waits {
		t.Errorf("%+v", r)
	}
	s.editUnapproved(func(p *autorebootv1.RebootPolicy) { p.Spec.ServiceAccountName = "Not A Name" })
	if f := s.foreseen("password"); f.Blocked.Reason != autorebootv1.ReasonInvalidSpec || len(f.Restarts) > 0 {
		t.Errorf("%+v", f)
	}
}
