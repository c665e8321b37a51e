// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
			s.complains(code, output, test.wanted...)
		})
	}
}

func TestAPortInUseIsNamedWithTheFlagThatChoosesAnother(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	for server, flag := range map[string]string{
		"webhook": "--set=webhook.port=%[2]s", "probes": "--health-probe-bind-address=%[1]s:%[2]s", "metrics": "--metrics-bind-address=%[1]s:%[2]s",
	} {
		t.Run(server, func(t *testing.T) {
			s := s.in(t)
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			s.Must(err)
			defer func() { _ = taken.Close() }()
			host, port, err := net.SplitHostPort(taken.Addr().String())
			s.Must(err)
			given := fmt.Sprintf(flag, host, port)
			if strings.Contains(given, "%!") {
				given, _, _ = strings.Cut(given, "%!")
			}
			// Nothing is served by then that would have to drain, which would take five minutes.
			code, output := s.launch("--set=webhook.drainDelay=5m", "--set=gracefulShutdownTimeout=10m", given).ends(framework.Patience)
			s.complains(code, output, server[:5], port, "another", "process")
		})
	}
}

func TestACertificateFolderThatCannotBeUsedIsNamedWithTheFileAndTheRemedy(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	good, other := s.issue(time.Hour), s.issue(time.Hour)
	tests := map[string]struct {
		folder string
		wanted []string
	}{
		"missing":        {"/does/not/exist", []string{"/does/not/exist", "does not exist", "mount"}},
		"a file":         {s.File("tls.crt", "x"), []string{"not a folder"}},
		"empty":          {t.TempDir(), []string{"tls.crt", "does not exist"}},
		"without a key":  {s.folder(map[string]string{"tls.crt": good.cert, "ca.crt": good.ca}), []string{"tls.key", "does not exist"}},
		"not PEM":        {s.folder(map[string]string{"tls.crt": "junk", "tls.key": good.key}), []string{"tls.crt", "PEM"}},
		"mismatched":     {s.folder(map[string]string{"tls.crt": good.cert, "tls.key": other.key, "ca.crt": good.ca}), []string{"tls.key", "does not belong", "one issue"}},
		"another root":   {s.folder(map[string]string{"tls.crt": good.cert, "tls.key": good.key, "ca.crt": other.ca}), []string{"ca.crt", "refuse tls.crt"}},
		"for others":     {s.folder(s.issueFor(time.Hour, "elsewhere.example.com").files()), []string{"tls.crt", framework.ServerName}},
		"expired":        {s.folder(s.issue(-time.Minute).files()), []string{"tls.crt", "expired at", "renew"}},
		"key in tls.crt": {s.folder(map[string]string{"tls.crt": good.cert + good.key, "tls.key": good.key}), []string{"tls.crt", "PRIVATE KEY"}},
	}
	launched := map[string]*replica{} // all at once, as each waits for its folder to become better
	for name, test := range tests {
		launched[name] = s.launch(impatient, "--set=webhook.certificates.source=folder", "--set=webhook.certificates.folder="+test.folder)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			(&replica{launched[name].Replica, s}).reachesLate("certificates", append(test.wanted, "certificate folder "+test.folder)...)
		})
	}
}

func TestACertificateFolderThatIsFilledLateServes(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	folder := filepath.Join(t.TempDir(), "late")
	r := s.launch("--set=webhook.certificates.source=folder", "--set=webhook.certificates.folder="+folder, "--set=webhook.certificates.injectCA=false", "--leader-elect=false")
	r.reachesLate("certificates", folder, "does not exist")
	issued := s.issue(time.Hour)
	s.fill(folder, issued.files())
	s.Must(framework.Eventually(t.Context(), framework.Patience, r.Ready))
	if got := r.reaches("ca-published", "skipped").Phases[3].Detail; !strings.Contains(got, "injectCA") {
		t.Errorf("/statusz does not say why nothing is published: %q", got)
	}
}
