// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// parseFlags runs a command line with an optional file through the flags.
func parseFlags(t *testing.T, file string, args ...string) (*Configuration, error) {
	t.Helper()
	flags := NewFlags()
	if file != "" {
		path := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(header+file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := flags.FlagSet.Parse(args); err != nil {
		return nil, err
	}
	return flags.Configuration()
}

func TestFlagsOverrideTheFileAndOnlyThoseGiven(t *testing.T) {
	got, err := parseFlags(t, `
namespaces: [a, b]
webhook: {port: 1000, drainDelay: 1s}
controllers: {concurrency: {ExternalService: 5, ChaosPod: 6}}
leaderElection: {leaderElect: false, resourceName: ours}
`,
		"--set=webhook.port=2000", "--set=namespaces=c, d", "--set=controllers.concurrency.ChaosPod=9", "--leader-elect",
		"--set", "leaderElection.leaseDuration=30s", "--metrics-bind-address=0", "--set=egress.deny=[{cidrs: [192.0.2.0/24]}]")
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Namespaces = []string{"c", "d"}
	want.Metrics.BindAddress = Off
	want.Egress.Deny = []EgressRule{{CIDRs: []string{"192.0.2.0/24"}}}
	want.Webhook.Port = 2000
	want.Webhook.DrainDelay = duration(time.Second)
	want.Controllers.Concurrency = map[string]int{"ExternalService": 5, "ChaosPod": 9, "RebootPolicy": 10}
	want.LeaderElection.ResourceName = "ours"
	want.LeaderElection.LeaseDuration = duration(30 * time.Second)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestKindsAreLeftOutOneByOne(t *testing.T) {
	got, err := parseFlags(t, "kinds: [RebootPolicy, ExternalService]\n", "--without-kind=ChaosPod", "--without-kind=RebootPolicy", "--set=chaosPods.canaries=false")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ExternalService"}, got.Kinds); diff != "" || got.HasCanaries() || got.KindsText() != "ExternalService" {
		t.Errorf("%s, canaries %t, kinds (-want +got):\n%s", got.KindsText(), got.HasCanaries(), diff)
	}
	if got, err := parseFlags(t, "", "--set=chaosPods.canaries=false"); err != nil || got.KindsText() != "ExternalService, RebootPolicy, ChaosPod (without canaries)" {
		t.Errorf("%+v, %v", got, err)
	}
	for arg, want := range map[string]string{
		"--without-kind=Pod":            "must be one of ExternalService, RebootPolicy, ChaosPod",
		"--set=kinds=[]":                "kinds: Required value: name at least one of",
		"--set=kinds=Pod":               `kinds[0]: Unsupported value: "Pod"`,
		"--set=kinds=ChaosPod,ChaosPod": `kinds[1]: Duplicate value: "ChaosPod"`,
	} {
		if _, err := parseFlags(t, "", arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

func TestTheLevelIsCalledVAsWell(t *testing.T) {
	for args, want := range map[string]string{"-v=2": "2", "-v 7": "7", "-v=error": "error", "--log-level=debug": "debug"} {
		got, err := parseFlags(t, "logging: {level: info}\n", strings.Fields(args)...)
		if err != nil || string(got.Logging.Level) != want {
			t.Errorf("%s: %+v, %v", args, got, err)
		}
	}
	// What users of other components type by habit is known, and refused with the reason.
	if _, err := parseFlags(t, "", "-v=10"); err == nil || !strings.Contains(err.Error(), "logging.level") ||
		!strings.Contains(err.Error(), "from 1 to 7") || !strings.Contains(err.Error(), "Secrets") {
		t.Errorf("-v=10: %v", err)
	}
}

func TestAFlagGivenWithItsDefaultStillOverrides(t *testing.T) {
	got, err := parseFlags(t, "webhook: {port: 1000}\n", "--set=webhook.port=9443")
	if err != nil {
		t.Fatal(err)
	}
	if got.Webhook.Port != 9443 {
		t.Errorf("port %d, want 9443", got.Webhook.Port)
	}
}

func TestAListIsWrittenWithCommasOrInYAML(t *testing.T) {
	for text, want := range map[string][]string{
		"a": {"a"}, "a,b": {"a", "b"}, "a, b": {"a", "b"}, "[a, b]": {"a", "b"}, "": {}, "::1/128,10.0.0.0/8": {"::1/128", "10.0.0.0/8"}, "[::1]:53": {"[::1]:53"},
	} {
		c := Default()
		if err := c.set("externalServices.nameservers", text); err != nil || !slices.Equal(c.ExternalServices.Nameservers, want) {
			t.Errorf("%q: %q, %v", text, c.ExternalServices.Nameservers, err)
		}
	}
}

func TestTheLastFlagOfAFieldWins(t *testing.T) {
	for want, args := range map[string][]string{
		":1": {"--set=metrics.bindAddress=:2", "--metrics-bind-address=:1"}, ":2": {"--metrics-bind-address=:1", "--set=metrics.bindAddress=:2"},
	} {
		if got, err := parseFlags(t, "", args...); err != nil || got.Metrics.BindAddress != want {
			t.Errorf("%v: %+v, %v", args, got.Metrics, err)
		}
	}
}

func TestAFlagThatSetsNoFieldIsRefusedWithARemedy(t *testing.T) {
	for arg, want := range map[string]string{
		"--set=webhook.prot=1":                  `unknown field "webhook.prot"`,
		"--set=Webhook.port=1":                  `unknown field "Webhook"`,
		"--set=webhook.port":                    "must be FIELD=VALUE",
		"--set=webhook.port=":                   "webhook.port: cannot be a string: give a number",
		"--set=webhook.port=many":               "webhook.port: cannot be a string: give a number",
		"--set=webhook=1":                       "webhook: cannot be a string: give an object",
		"--set=egress.allow=a":                  "give a",
		"--set==1":                              `unknown field ""`,
		"--set=webhook.drainDelay=5":            "webhook.drainDelay: time: missing unit",
		"--leader-elect=maybe":                  "leaderElection.leaderElect: cannot be a string: give true or false",
		"--set=controllers.concurrency=chaos":   "controllers.concurrency: cannot be a string: give an object",
		"--set=clientConnection.kubeconfig.a=b": "clientConnection.kubeconfig: cannot be a object: give a string",
	} {
		if _, err := parseFlags(t, "", arg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arg, err, want)
		}
	}
}

func TestArgumentsOfAnotherVersionAreReadAsFarAsTheyAreKnown(t *testing.T) {
	arguments := []string{"/fairlead", "manager", "--config=c.yaml", "--webhook-port=1", "--of-tomorrow", "--set=controllers.enabled=false"}
	got, err := FromArguments(arguments, func(path string) (*Configuration, error) { return Parse(path, []byte(header+"namespaces: [a]\n")) })
	if err != nil || got.Controllers.Enabled || got.Webhook.Port != 9443 || len(got.Namespaces) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWebhookConfigurationsAreNamedOnceForEachKind(t *testing.T) {
	arguments := []string{"--webhook-configuration", "b-externalservice", "--webhook-configuration", "b-chaospod"}
	got, err := parseFlags(t, "", append(arguments, "--without-kind=RebootPolicy")...)
	if err != nil || got.Webhook.Configuration("ChaosPod") != "b-chaospod" || got.Webhook.Configuration("RebootPolicy") != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseFlags(t, "", arguments...); err == nil || !strings.Contains(err.Error(), "which ends in -clusterrebootpolicy") {
		t.Errorf("kinds without a configuration are accepted: %v", err)
	}
}

func TestEveryFlagHasHelpAndTheDefaultOfTheConfiguration(t *testing.T) {
	flags := NewFlags()
	flags.FlagSet.VisitAll(func(flag *pflag.Flag) {
		if !strings.HasSuffix(flag.Usage, ".") {
			t.Errorf("--%s: help %q is no sentence", flag.Name, flag.Usage)
		}
		if !slices.Contains([]string{"config", "set", "without-kind", "webhook-configuration"}, flag.Name) { // which have none
			if err := flag.Value.Set(flag.DefValue); err != nil {
				t.Errorf("--%s: %v", flag.Name, err)
			}
		}
	})
	got, err := flags.Configuration()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), got); diff != "" {
		t.Errorf("a flag has another default (-field +flag):\n%s", diff)
	}
}

func TestFlagsSayWhatAReplicaOfACommonFileDoes(t *testing.T) {
	const file = "leaderElection: {leaderElect: true}\nwebhook: {port: 9443}\n"
	for flag, want := range map[string][2]bool{"": {true, true}, "--set=webhook.enabled=false": {false, true}, "--set=controllers.enabled=false": {true, false}} {
		var args []string
		if flag != "" {
			args = append(args, flag)
		}
		got, err := parseFlags(t, file, args...)
		if err != nil {
			t.Fatal(err)
		}
		if roles := [2]bool{got.Webhook.Enabled, got.Controllers.Enabled}; roles != want {
			t.Errorf("%q: webhooks and controllers are %v, want %v", flag, roles, want)
		}
	}
	if _, err := parseFlags(t, file, "--set=webhook.enabled=false", "--set=controllers.enabled=false"); err == nil ||
		!strings.Contains(err.Error(), "webhook.enabled") || !strings.Contains(err.Error(), "controllers.enabled") {
		t.Errorf("with nothing to do: %v", err)
	}
}

func TestErrorsNameTheFileOrTheFlags(t *testing.T) {
	if _, err := parseFlags(t, "webhook: {port: 70000}\n"); err == nil || !strings.Contains(err.Error(), "c.yaml") || !strings.Contains(err.Error(), "webhook.port") {
		t.Errorf("from the file: %v", err)
	}
	if _, err := parseFlags(t, "", "--set=webhook.port=70000"); err == nil || !strings.HasPrefix(err.Error(), "flags: ") {
		t.Errorf("from the flags: %v", err)
	}
}
