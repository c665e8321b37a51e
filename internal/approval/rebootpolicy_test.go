// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/rules"
	"github.com/fairlead-dev/fairlead/internal/rules/rebootpolicy"
)

func labeled(value common.LabelValue) *common.LabelSelector {
	return &common.LabelSelector{MatchLabels: map[string]common.LabelValue{"app": value}}
}

// policy has every part that an approval covers.
func policy() *autorebootv1.RebootPolicy {
	return &autorebootv1.RebootPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "payments"},
		Spec: autorebootv1.RebootPolicySpec{
			ServiceAccountName: "restarter",
			Targets: []autorebootv1.Target{
				{Kind: common.WorkloadDeployment, Name: "api"},
				{Kind: common.WorkloadStatefulSet, Selector: labeled("db")},
			},
			Strategy: &autorebootv1.Strategy{Type: autorebootv1.StrategyEvict},
			Triggers: []autorebootv1.Trigger{
				{Name: "config", Type: autorebootv1.TriggerConfigChange, ConfigChange: &autorebootv1.ConfigChange{Sources: []autorebootv1.ConfigSource{
					{Kind: autorebootv1.SourceSecret, Name: "creds", Keys: []string{"a", "b"}},
					{Kind: autorebootv1.SourceConfigMap, Selector: labeled("x")},
				}}},
				{Name: "tls", Type: autorebootv1.TriggerCertificateRenewal, CertificateRenewal: &autorebootv1.CertificateRenewal{SecretName: "tls", Key: ptr.To("tls.crt")}},
				{Name: "run", Type: autorebootv1.TriggerProbe, Probe: &autorebootv1.Probe{Check: common.Check{GRPC: &common.GRPCAction{Port: ptr.To(intstr.FromString("grpc"))}, TLS: &common.CheckTLS{CASecretName: "roots"}}}},
				{Name: "ask", Type: autorebootv1.TriggerProbe, Probe: &autorebootv1.Probe{Host: ptr.To("192.0.2.1"), Check: common.Check{TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromInt32(80))}}}},
				{Name: "moved", Type: autorebootv1.TriggerEndpointsChange, EndpointsChange: &autorebootv1.EndpointsChange{ExternalServiceName: "db"}},
				{Name: "weekly", Type: autorebootv1.TriggerSchedule, Schedule: &autorebootv1.ScheduleTrigger{Cron: "0 3 * * 0"}},
			},
			Calendar: common.Calendar{Blackouts: []common.Window{{Name: "day", Cron: "0 8 * * *", Duration: "10h"}}},
			Gates: []autorebootv1.Gate{
				{Name: "jobs", Type: autorebootv1.GateNoPods, NoPods: &autorebootv1.NoPods{Selector: labeled("batch")}},
				{Name: "ledger", Type: autorebootv1.GateCondition, Condition: &autorebootv1.ObjectCondition{APIVersion: "apps/v1", Kind: "Deployment", Name: "ledger"}},
			},
		},
	}
}

func approved(p *autorebootv1.RebootPolicy) *autorebootv1.RebootPolicy {
	p.Annotations = map[string]string{common.ApprovedByAnnotation: Value("ann", RebootPolicyDigest(&p.Spec))}
	return p
}

func TestAnApprovalIsOfAllThatDecidesWhatIsRestartedAndWhen(t *testing.T) {
	type spec = autorebootv1.RebootPolicySpec
	for name, test := range map[string]struct {
		change func(*spec)
		holds  bool
	}{
		"nothing":           {func(*spec) {}, true},
		"order of targets":  {func(s *spec) { s.Targets[0], s.Targets[1] = s.Targets[1], s.Targets[0] }, true},
		"order of triggers": {func(s *spec) { s.Triggers[0], s.Triggers[5] = s.Triggers[5], s.Triggers[0] }, true},
		"order of keys":     {func(s *spec) { s.Triggers[0].ConfigChange.Sources[0].Keys = []string{"b", "a"} }, true},
		"name of a trigger": {func(s *spec) { s.Triggers[1].Name = "cert" }, true},
		"name of a gate":    {func(s *spec) { s.Gates[1].Name = "books" }, true},
		"group of a target": {func(s *spec) { s.Targets[0].Group = "apps" }, true},
		"suspend, dryRun":   {func(s *spec) { s.Suspend, s.DryRun = ptr.To(true), ptr.To(true) }, true},
		"history":           {func(s *spec) { s.HistoryLimit = ptr.To[int32](3) }, true},
		"defaults":          {func(s *spec) { p := &autorebootv1.RebootPolicy{Spec: *s}; rebootpolicy.Default(p); *s = p.Spec }, true},

		"cron":                    {func(s *spec) { s.Triggers[5].Schedule.Cron = "0 4 * * 0" }, false},
		"wave":                    {func(s *spec) { s.Targets[0].Wave = ptr.To[int32](3) }, false},
		"evict timeout":           {func(s *spec) { s.Strategy.Evict = &autorebootv1.EvictStrategy{Timeout: ptr.To(common.Duration("1s"))} }, false},
		"probed host":             {func(s *spec) { s.Triggers[3].Probe.Host = ptr.To("192.0.2.2") }, false},
		"failure threshold":       {func(s *spec) { s.Triggers[3].Probe.FailureThreshold = ptr.To[int32](1) }, false},
		"events":                  {func(s *spec) { s.Triggers[4].EndpointsChange.Events = []autorebootv1.EndpointsEvent{"Recovered"} }, false},
		"optional source":         {func(s *spec) { s.Triggers[0].ConfigChange.Sources[0].Optional = ptr.To(true) }, false},
		"name of a blackout":      {func(s *spec) { s.Blackouts[0].Name = "office" }, true},
		"a window":                {func(s *spec) { s.Windows = []common.Window{{}} }, false},
		"no blackout":             {func(s *spec) { s.Blackouts = nil }, false},
		"a shorter blackout":      {func(s *spec) { s.Blackouts[0].Duration = "1m" }, false},
		"a window for a blackout": {func(s *spec) { s.Windows, s.Blackouts = s.Blackouts, nil }, false},
		"limit":                   {func(s *spec) { s.Limit = &autorebootv1.Limit{MaxRestarts: 99, Within: "1h"} }, false},
		"cooldown":                {func(s *spec) { s.Cooldown = ptr.To(common.Duration("1s")) }, false},
		"debounce":                {func(s *spec) { s.Debounce = &autorebootv1.Debounce{QuietPeriod: ptr.To(common.Duration("1s"))} }, false},
		"soak": {func(s *spec) {
			s.Verification = &autorebootv1.Verification{Verification: common.Verification{Soak: ptr.To(common.Duration("0s"))}}
		}, false},
		"onFailure": {func(s *spec) {
			s.Verification = &autorebootv1.Verification{Verification: common.Verification{OnFailure: ptr.To(common.FailureContinue)}}
		}, false},
		"probes of the verification": {func(s *spec) {
			s.Verification = &autorebootv1.Verification{Verification: common.Verification{Probes: []common.VerificationProbe{{Name: "shop", Host: "192.0.2.1", TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromInt32(80))}}}}}
		}, false},
		"retry":       {func(s *spec) { s.Retry = &autorebootv1.Retry{MaxAttempts: ptr.To[int32](9)} }, false},
		"concurrency": {func(s *spec) { s.Concurrency = &autorebootv1.Concurrency{MaxTargets: ptr.To(intstr.FromInt32(9))} }, false},

		"another account":           {func(s *spec) { s.ServiceAccountName = "admin" }, false},
		"no account":                {func(s *spec) { s.ServiceAccountName = "" }, false},
		"another target":            {func(s *spec) { s.Targets[0].Name = "web" }, false},
		"another kind":              {func(s *spec) { s.Targets[0].Kind = common.WorkloadDaemonSet }, false},
		"another selector":          {func(s *spec) { s.Targets[1].Selector = labeled("web") }, false},
		"one target more":           {func(s *spec) { s.Targets = append(s.Targets, autorebootv1.Target{Kind: "Deployment", Name: "x"}) }, false},
		"one target less":           {func(s *spec) { s.Targets = s.Targets[:1] }, false},
		"RolloutRestart":            {func(s *spec) { s.Strategy.Type = autorebootv1.StrategyRolloutRestart }, false},
		"no strategy":               {func(s *spec) { s.Strategy = nil }, false},
		"another Secret":            {func(s *spec) { s.Triggers[0].ConfigChange.Sources[0].Name = "root" }, false},
		"another key":               {func(s *spec) { s.Triggers[0].ConfigChange.Sources[0].Keys[0] = "c" }, false},
		"all keys":                  {func(s *spec) { s.Triggers[0].ConfigChange.Sources[0].Keys = nil }, false},
		"another kind of source":    {func(s *spec) { s.Triggers[0].ConfigChange.Sources[1].Kind = autorebootv1.SourceSecret }, false},
		"other labels of a source":  {func(s *spec) { s.Triggers[0].ConfigChange.Sources[1].Selector = labeled("y") }, false},
		"another certificate":       {func(s *spec) { s.Triggers[1].CertificateRenewal.SecretName = "root" }, false},
		"another certificate's key": {func(s *spec) { s.Triggers[1].CertificateRenewal.Key = ptr.To("ca.crt") }, false},
		"another authority":         {func(s *spec) { s.Triggers[2].Probe.TLS.CASecretName = "creds" }, false},
		"another container's port":  {func(s *spec) { s.Triggers[2].Probe.GRPC.Port = ptr.To(intstr.FromString("admin")) }, false},
		"another ExternalService":   {func(s *spec) { s.Triggers[4].EndpointsChange.ExternalServiceName = "ldap" }, false},
		"another gate":              {func(s *spec) { s.Gates[1].Condition.Name = "web" }, false},
		"other pods of a gate":      {func(s *spec) { s.Gates[0].NoPods.Selector = labeled("all") }, false},
		"no gate":                   {func(s *spec) { s.Gates = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := approved(policy())
			if test.change(&p.Spec); RebootPolicyApproved(p) != test.holds {
				t.Errorf("approved: %t, want %t", !test.holds, test.holds)
			}
		})
	}
}

// TestAnApprovalIsOfWhatIsAskedOfWhom is about verification.probes.
func TestAnApprovalIsOfWhatIsAskedOfWhom(t *testing.T) {
	type probe = common.VerificationProbe
	for name, test := range map[string]struct {
		change func([]probe)
		holds  bool
	}{
		"names":       {func(all []probe) { all[0].Name, all[1].Name = "a", "b" }, true},
		"order":       {func(all []probe) { all[0], all[1] = all[1], all[0] }, true},
		"defaults":    {rules.DefaultVerificationProbes, true},
		"host":        {func(all []probe) { all[1].Host = "192.0.2.9" }, false},
		"maxFailures": {func(all []probe) { all[0].MaxFailures = ptr.To[int32](9) }, false},
		"interval":    {func(all []probe) { all[0].Interval = ptr.To(common.Duration("9s")) }, false},
		"path":        {func(all []probe) { all[0].HTTPGet.Path = ptr.To("/admin") }, false},
		"authority":   {func(all []probe) { all[0].TLS = &common.CheckTLS{CASecretName: "roots"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			probes := func() common.Verification {
				return common.Verification{Probes: []probe{
					{Name: "shop", Host: "shop.example.com", HTTPGet: &common.HTTPGetAction{Port: ptr.To(intstr.FromInt32(80))}},
					{Name: "port", Host: "192.0.2.1", TCPSocket: &common.TCPSocketAction{Port: ptr.To(intstr.FromInt32(80))}},
				}}
			}
			p, c := policy(), chaosPod()
			p.Spec.Verification, c.Spec.Verification = &autorebootv1.Verification{Verification: probes()}, ptr.To(probes())
			approved(p)
			c.Annotations = map[string]string{common.ApprovedByAnnotation: Value("ann", ChaosPodDigest(&c.Spec))}
			if test.change(p.Spec.Verification.Probes); RebootPolicyApproved(p) != test.holds {
				t.Errorf("approved: %t, want %t", !test.holds, test.holds)
			}
			if test.change(c.Spec.Verification.Probes); ChaosPodApproved(c) != test.holds {
				t.Errorf("a ChaosPod is approved: %t, want %t", !test.holds, test.holds)
			}
		})
	}
}

func TestDefaultsLeaveAnApprovalAsItIs(t *testing.T) {
	p := policy()
	p.Spec.Strategy, p.Spec.Triggers[1].CertificateRenewal.Key = nil, nil
	p.Spec.Triggers[0].ConfigChange.Sources[1].Keys = []string{}
	approved(p)
	rebootpolicy.Default(p)
	p.Spec.Triggers[0].ConfigChange.Sources[1].Keys = nil
	if !RebootPolicyApproved(p) {
		t.Error("a default took the approval away")
	}
}

// TestADigestOutlivesVersions has a digest that an earlier version has written: one that changes takes
// the approval of every stored policy away. A new setting must be absent from it where it is not used,
// inside triggers, targets and gates too.
func TestADigestOutlivesVersions(t *testing.T) {
	const written = "sha256:da4a017e3a5b62a112141484751acf5093c6ea03546e95fb0d9f2c2895f7779c"
	if got := RebootPolicyDigest(&policy().Spec); got != written {
		t.Errorf("the digest is %s, and was %s", got, written)
	}
}

func TestNoApprovalIsValidWhereWebhooksAreNotCalled(t *testing.T) {
	p := approved(policy())
	for name, test := range map[string]struct {
		policy  *autorebootv1.RebootPolicy
		unasked []string
		want    bool
	}{
		"asked":                    {p, []string{"kube-system", "fairlead-system"}, true},
		"no namespace is exempt":   {p, nil, true},
		"not asked":                {p, []string{"kube-system", "shop"}, false},
		"nothing approved":         {policy(), nil, false},
		"no spec, and an approval": {approved(&autorebootv1.RebootPolicy{}), nil, false},
	} {
		if got := RebootPolicyApproved(test.policy, test.unasked...); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
