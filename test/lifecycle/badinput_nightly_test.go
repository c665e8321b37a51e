// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

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
