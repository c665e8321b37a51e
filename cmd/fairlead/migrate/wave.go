// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"flag"
	"io"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

const wavePrefix = "wave.pusher.com/"

const (
	waveScheduling = "Wave keeps pods from being scheduled until their ConfigMaps and Secrets exist. A restart waits for them, and the pods of a new workload wait in the kubelet."
	waveUninstall  = "Before Wave is uninstalled, see that no workload has the annotation wave.pusher.com/scheduling-disabled: Wave alone gives it its scheduler back."
)

var wave = &Peer{
	Name: "wave", Title: "workloads with the annotations of Wave", Into: "ClusterRebootPolicy", Flags: []string{"pace"},
	Reads:       []Kind{deploymentReads, statefulSetReads, daemonSetReads},
	Differences: append([]string{waveScheduling}, clusterPolicyDifferences...),
	Steps:       append(slices.Clone(clusterPolicySteps), waveUninstall),
	translate:   translateWaveToCluster,
	PerWorkload: wavePerWorkload,
}

var wavePerWorkload = &Peer{
	Name: "wave", Into: "RebootPolicy",
	Reads:       []Kind{deploymentReads, statefulSetReads, daemonSetReads},
	Differences: append([]string{waveScheduling}, restartDifferences...),
	Steps:       append(slices.Clone(restartSteps), waveUninstall),
	translate:   translateWave,
}

// isOfWave reports whether Wave restarts a workload: it compares the annotation of the workload with a word.
func isOfWave(o *object) bool {
	return o.GroupKind() != rolloutKind && o.Get("metadata").Get("annotations").Text(wavePrefix+"update-on-config-change") == "true"
}

// waveNamespaces returns the namespaces that Wave watches, as its flags say (cmd/manager/main.go); none for all, and where it is
// not in the input.
func (r *run) waveNamespaces() (namespaces []string, from []*subject) {
	for _, o := range r.ofProject("wave") {
		s := r.subject(o)
		set, watched := flag.NewFlagSet("wave", flag.ContinueOnError), ""
		set.SetOutput(io.Discard)
		set.StringVar(&watched, "namespaces", "", "")
		for _, name := range []string{"leader-election-id", "leader-election-namespace", "sync-period",
			"update-rate", "update-burst", "kubeconfig",
			"zap-encoder", "zap-log-level", "zap-stacktrace-level", "zap-time-encoding"} {
			set.String(name, "", "")
		}
		for _, name := range []string{"leader-election", "version", "enable-webhooks", "zap-devel"} {
			set.Bool(name, false, "")
		}
		for _, container := range s.root().in(podSpec(s.GroupKind())...).in("containers").items() {
			if container.n != containerOf(s.object, "wave") {
				continue
			}
			var texts []string
			for _, argument := range container.in("args").items() {
				texts = append(texts, argument.text())
			}
			if err := set.Parse(texts); err != nil || set.NArg() > 0 || strings.Contains(watched, "$(") {
				container.in("args").note(Refused, "%v: remove the argument from the Deployment that you give, unless it makes Wave watch less", err)
			}
		}
		if from = append(from, s); watched == "" {
			return nil, from
		}
		namespaces = append(namespaces, strings.Split(watched, ",")...)
	}
	return namespaces, from
}

// translateWaveToCluster writes a ClusterRebootPolicy that reads the annotations of Wave.
func translateWaveToCluster(r *run) {
	p := r.newClusterPolicy("wave", autorebootv1.CompatibilityWave)
	namespaces, from := r.waveNamespaces()
	p.inNamespaces(metav1.LabelSelectorOpIn, namespaces)
	all, _ := r.workloads(isOfWave)
	for _, o := range all {
		s := r.subject(o)
		if !isWatchedBy(s, namespaces) {
			continue
		}
		noteScheduling(s)
		p.cover(s)
	}
	p.emit(from...)
}

func translateWave(r *run) {
	namespaces, from := r.waveNamespaces()
	all, names := r.workloads(isOfWave)
	for _, o := range all {
		p := policy{subject: r.subject(o)}
		if !isWatchedBy(p.subject, namespaces) {
			continue
		}
		if p.read(r, autorebootv1.CompatibilityWave, false, nil) != nil {
			noteScheduling(p.subject)
			p.emit(r, names, from...)
		}
	}
}

// isWatchedBy reports whether the namespace of a workload is among some, or there are none.
func isWatchedBy(s *subject, namespaces []string) bool {
	if len(namespaces) == 0 || slices.Contains(namespaces, s.namespace) {
		return true
	}
	s.say(Left, "its namespace is one that Wave does not watch")
	return false
}

func noteScheduling(s *subject) {
	if disabled := s.root().in("metadata", "annotations", wavePrefix+"scheduling-disabled"); disabled.exists() {
		disabled.say(Differs, "Wave has taken the scheduler of its pods away: let it restore that before you uninstall it")
	}
}
