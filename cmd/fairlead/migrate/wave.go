// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"slices"
	"strings"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

const wavePrefix = "wave.pusher.com/"

const (
	waveScheduling = "Wave keeps pods from being scheduled until their ConfigMaps and Secrets exist. A restart waits for them, and the pods of a new workload wait in the kubelet."
	waveUninstall  = "Before Wave is uninstalled, see that no workload has the annotation wave.pusher.com/scheduling-disabled: Wave alone gives it its scheduler back."
)

var wave = &Peer{
	Name: "wave", Title: "workloads with the annotations of Wave", Into: "ClusterRebootPolicy",
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

func isOfWave(o *object) bool {
	return o.GroupKind() != rolloutKind && isTrue(o.Get("metadata").Get("annotations").Text(wavePrefix+"update-on-config-change"))
}

func translateWave(r *run) {
	all, names := r.workloads(isOfWave)
	for _, o := range all {
		s := r.subject(o)
		p := policy{subject: s}
		for name, kind := range map[string]autorebootv1.SourceKind{
			"extra-configmaps": autorebootv1.SourceConfigMap, "extra-secrets": autorebootv1.SourceSecret,
		} {
			at := s.root().in("metadata", "annotations", wavePrefix+name)
			for part := range strings.SplitSeq(at.text(), ",") {
				namespace, name, qualified := strings.Cut(strings.TrimSpace(part), "/")
				if !qualified {
					namespace, name = s.namespace, namespace
				}
				switch {
				case name == "":
				case namespace != s.namespace:
					at.say(Lost, "%s/%s is in another namespace, and a policy watches its own", namespace, name)
				case !nameOfObject.MatchString(name):
					at.say(Refused, "%.60q is no name", name)
				default:
					p.add(source{kind, name})
				}
			}
		}
		slices.SortFunc(p.trigger.Sources, func(a, b autorebootv1.ConfigSource) int {
			return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name)
		})
		noteScheduling(s)
		p.emit(r, names)
	}
}

func noteScheduling(s *subject) {
	if disabled := s.root().in("metadata", "annotations", wavePrefix+"scheduling-disabled"); disabled.exists() {
		disabled.say(Differs, "Wave has taken the scheduler of its pods away: let it restore that before you uninstall it")
	}
}
