// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"strings"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
)

// The annotations of Wave (wave-k8s/wave, pkg/core/types.go).
const (
	waveUpdate     = "wave.pusher.com/update-on-config-change"
	waveConfigMaps = "wave.pusher.com/extra-configmaps"
	waveSecrets    = "wave.pusher.com/extra-secrets" //nolint:gosec // the name of an annotation
)

var waveAnnotations = []string{waveUpdate, waveConfigMaps, waveSecrets}

// readWave reads the annotations of Wave (pkg/core/children.go). Wave ignores init containers and
// SecretProviderClasses.
func (o *OnChange) readWave(w *Workload) {
	if w.Annotations[waveUpdate] != "true" {
		return
	}
	o.OptedIn, o.places = true, InEnv|InMount|InVolume
	o.kinds = map[autorebootv1.SourceKind]kindClaim{configMap: {asked: Found}, secret: {asked: Found}}
	for _, list := range []struct {
		annotation string
		kind       autorebootv1.SourceKind
	}{{waveConfigMaps, configMap}, {waveSecrets, secret}} {
		o.list(list.annotation, w.Annotations[list.annotation], func(item string) bool {
			if namespace, name, qualified := strings.Cut(item, "/"); qualified && namespace == w.Namespace {
				item = name
			}
			return o.add(SourceName{list.kind, item})
		}, "the name of a "+string(list.kind)+" of the workload's namespace, and those of others are not watched")
	}
}
