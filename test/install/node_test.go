// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster"
)

// With these, which `make e2e` sets, a suite runs on a real node: pods are containers there, and nothing of the
// chart is changed.
const (
	// nodeVariable is the kubeconfig of the node.
	nodeVariable = "FAIRLEAD_INSTALL_NODE"
	// versionsVariable is a folder that WriteVersions has written.
	versionsVariable = "FAIRLEAD_INSTALL_VERSIONS"
	// figuresVariable is a file for what the requests saw.
	figuresVariable = "FAIRLEAD_INSTALL_FIGURES"
	// certManagerVariable is the file of the manifests of cert-manager, whose image the node has.
	certManagerVariable = "FAIRLEAD_INSTALL_CERTMANAGER"
	// podLogs is where the kubelet writes what containers print.
	podLogs = "/var/log/pods"
)

// onNode makes the suite one of a real node.
func (s *suite) onNode(kubeconfig string) {
	s.Helper()
	programs, err := cluster.Build(s.Context(), cluster.BuildOptions{Root: root, Programs: []string{cluster.Kubectl}})
	s.must(err)
	s.programs, s.kubeconfig, s.versions, s.output = programs, kubeconfig, os.Getenv(versionsVariable), printed
	s.Cleanup(func() {
		content, err := json.Marshal(s.figures)
		s.must(err)
		s.must(os.WriteFile(os.Getenv(figuresVariable), content, 0o600))
	})
}

// stream is how each line of a log begins.
var stream = regexp.MustCompile(`(?m)^\S+ std(out|err) [FP] `)

// printed returns what pods whose name begins so have printed, those of Fairlead's images.
func printed(prefix string) string {
	var all strings.Builder
	found, _ := filepath.Glob(filepath.Join(podLogs, "*_"+prefix+"*", "*", "*.log")) // the pattern is well-formed
	for _, path := range found {
		text, _ := os.ReadFile(path) // "" says enough
		all.WriteString(stream.ReplaceAllString(string(text), ""))
	}
	return all.String()
}

// figures counts the requests of a step and their failures.
type figures struct {
	Scenario     string
	Sent, Failed int
	P50, P99     time.Duration
	Took         time.Duration
}

// percentile of durations, which it sorts.
func percentile(durations []time.Duration, percent int) time.Duration {
	if len(durations) == 0 {
		return 0
	}
	slices.Sort(durations)
	return durations[min(len(durations)-1, len(durations)*percent/100)]
}

// hasCertManager installs cert-manager.
func (s *suite) hasCertManager() {
	s.Helper()
	s.kubectl("apply", "--server-side", "-f", os.Getenv(certManagerVariable))
	s.kubectl("rollout", "status", "deployment/cert-manager", "-n", "cert-manager", "--timeout="+patience.String())
}

// issues goes from the operator's own authority to cert-manager's, and back.
func (s *suite) issues() {
	s.Helper()
	const issued = "fairlead-webhook-tls"
	upgrade := func(source, to string) {
		s.Helper()
		requests := s.requests()
		s.upgrade("fairlead-system", current, upgradeFlags{reuseValues: true}, map[string]any{"certificates": map[string]any{"source": source}})
		s.hasObjects()
		requests.end("upgrade to certificates of " + to + " by the chart")
	}
	upgrade("certManager", "cert-manager")
	if output := s.sound(); !strings.Contains(output, "ok: Secret fairlead-system/"+issued+": the serving certificate is valid for ") {
		s.Errorf("cert-manager issues no certificate:\n%s", output)
	}
	s.helmTest("fairlead-system", issued)
	upgrade("selfSigned", "the operator's own authority")
	s.sound()
}
