// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"testing"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// impatient bounds what the operator would otherwise bear with for a minute. An API server on a busy
// machine still answers all that it is asked in this time.
const impatient = "--set=clientConnection.startTimeout=6s"

func TestAConfigurationThatCannotWorkIsOneLineThatNamesTheFieldAndTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	file := func(content string) string {
		return s.File("fairlead.yaml", "apiVersion: config.fairlead.dev/v1alpha1\nkind: FairleadConfiguration\n"+content)
	}
	for name, test := range map[string]struct {
		args   []string
		wanted []string
	}{
		"unknown field in the file":       {[]string{"--config=" + file("webhook:\n  prot: 1\n")}, []string{"fairlead.yaml:4", `"webhook.prot"`}},
		"field given twice":               {[]string{"--config=" + file("logging: {}\nlogging: {}\n")}, []string{"fairlead.yaml", "logging"}},
		"duration that is none":           {[]string{"--config=" + file("leaderElection:\n  leaseDuration: soon\n")}, []string{"fairlead.yaml", "soon"}},
		"duration of a flag that is none": {[]string{"--set=leaderElection.leaseDuration=soon"}, []string{"leaderElection.leaseDuration", `"soon"`, "--help"}},
		"file of another kind":            {[]string{"--config=" + s.File("c.yaml", "apiVersion: v1\nkind: Pod\n")}, []string{"c.yaml", "FairleadConfiguration"}},
		"file that is no YAML":            {[]string{"--config=" + s.File("c.yaml", "{{{")}, []string{"c.yaml"}},
		"file that is not there":          {[]string{"--config=/does/not/exist.yaml"}, []string{"/does/not/exist.yaml", "no such file"}},
		"unknown flag":                    {[]string{"--webhok-port=1"}, []string{"--webhok-port", "--help"}},
		"lease not above renew deadline":  {[]string{"--set=leaderElection.leaseDuration=5s"}, []string{"leaderElection.leaseDuration", "renewDeadline, 10s"}},
		"renew deadline not above retry":  {[]string{"--set=leaderElection.retryPeriod=9s"}, []string{"leaderElection.renewDeadline", "retryPeriod, 9s"}},
		"drain longer than the stop":      {[]string{"--set=webhook.drainDelay=2m"}, []string{"gracefulShutdownTimeout", "drainDelay"}},
		"TLS version that is retired":     {[]string{"--set=webhook.tls.minVersion=VersionTLS11"}, []string{"webhook.tls.minVersion", "VersionTLS12"}},
		"profiles for everybody":          {[]string{"--pprof-bind-address=0.0.0.0:6060"}, []string{"profiling.bindAddress", "loopback"}},
		"level that would log Secrets":    {[]string{"--log-level=8"}, []string{"logging.level", "1 to 7"}},
		"kubeconfig that is not there":    {[]string{"--kubeconfig=/does/not/exist"}, []string{"/does/not/exist"}},
		"kubeconfig of no use":            {[]string{"--kubeconfig=" + s.File("kubeconfig", "{apiVersion: v1, kind: Config, current-context: nowhere}")}, []string{"kubeconfig", "nowhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			code, output := s.launch(test.args...).ends(framework.Patience)
			want := 1
			if slices.Contains([]string{"unknown flag", "duration of a flag that is none"}, name) {
				want = 2 // the command line is wrong
			}
			s.complainsWith(want, code, output, test.wanted...)
		})
	}
}
