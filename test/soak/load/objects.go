// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"maps"
)

// object is one in JSON.
type object map[string]any

// kind is one of Fairlead's, with how objects of it look.
type kind struct {
	name, group, resource, prefix string
	// hub and spoke make a spec of v1 and of v1alpha1. turn is a small number that makes one differ
	// from the next, and worker who sends it.
	hub, spoke func(worker, turn int) object
	// refused are specs that only the webhooks refuse.
	refused []refusal
	// trials says that objects at v1alpha1 are for dry runs alone, as they would act.
	trials bool
}

// refusal is a spec, and what the refusal must say.
type refusal struct {
	version string
	spec    object
	says    []string
}

const (
	hubVersion   = "v1"
	spokeVersion = "v1alpha1"
)

var kinds = []kind{
	{
		name: "ExternalService", group: "networking.fairlead.dev", resource: "externalservices", prefix: "es",
		hub: func(_, turn int) object {
			return object{
				"suspend": turn%2 == 1, "ports": []object{{"name": "sql", "port": 5432}},
				"endpoints": []object{{"name": "a", "addresses": []string{address(turn)}}},
			}
		},
		spoke: func(_, turn int) object {
			return object{
				"ports":     []object{{"name": "sql", "port": 5432}},
				"endpoints": []object{{"name": "a", "addresses": []string{address(turn)}}},
			}
		},
		refused: []refusal{
			{hubVersion, object{
				"ports":     []object{{"name": "sql", "port": 5432}},
				"endpoints": []object{{"name": "a", "dns": object{"name": "localhost."}}},
			}, []string{"spec.endpoints[0].dns.name", "localhost names are not allowed"}},
			{spokeVersion, object{
				"ports":     []object{{"name": "sql", "port": 5432}},
				"endpoints": []object{{"name": "a", "dns": object{"name": "localhost."}}},
			}, []string{"spec.endpoints[0].dns.name", "localhost names are not allowed"}},
		},
	},
	{
		name: "RebootPolicy", group: "autoreboot.fairlead.dev", resource: "rebootpolicies", prefix: "rp",
		hub: func(worker, turn int) object {
			return object{
				"suspend": true, "targets": []object{{"kind": "Deployment", "name": workload(worker)}},
				"triggers": []object{{"name": "weekly", "type": "Schedule", "schedule": object{"cron": fmt.Sprintf("%d 3 * * 0", turn%60)}}},
			}
		},
		spoke: func(worker, turn int) object {
			return object{
				"suspend": true, "targets": []object{{"kind": "Deployment", "name": workload(worker)}}, "cooldown": "10m",
				"policies": []object{{"name": "up", "type": "Probe", "probe": object{"httpGet": object{"port": 8000 + turn%60}}}},
			}
		},
		refused: []refusal{
			{hubVersion, object{
				"targets":  []object{{"kind": "Deployment", "name": "web"}},
				"triggers": []object{{"name": "t", "type": "Schedule", "schedule": object{"cron": "0 0 30 2 *"}}},
			}, []string{"spec.triggers[0].schedule.cron", "0 0 30 2 *"}},
		},
	},
	{
		name: "ChaosPod", group: "chaos.fairlead.dev", resource: "chaospods", prefix: "cp", trials: true,
		hub: func(worker, turn int) object {
			return object{
				"suspend": true, "target": object{"workload": object{"kind": "Deployment", "name": workload(worker)}},
				"schedule": object{"interval": fmt.Sprintf("%dm", 60+turn%60)},
			}
		},
		spoke: func(_, _ int) object {
			return object{ // no run is due while this lasts
				"template": object{"spec": object{"containers": []object{{"name": "pause", "image": "pause"}}}},
				"nextStop": "2099-01-01T00:00:00Z",
			}
		},
		refused: []refusal{
			{hubVersion, object{
				"target":   object{"selector": object{"matchLabels": object{"-": "x"}}},
				"schedule": object{"interval": "1h"},
			}, []string{"spec.target.selector"}},
		},
	},
}

// address is one of the 192.0.2.0/24 that no network has (RFC 5737).
func address(turn int) string { return fmt.Sprintf("192.0.2.%d", 1+turn%250) }

// workload does not exist.
func workload(worker int) string { return fmt.Sprintf("web-%d", worker) }

// at is the object's apiVersion.
func (k kind) at(version string) string { return k.group + "/" + version }

// object makes one that carries its worker's label.
func (k kind) object(version, name string, worker int, spec object) object {
	return object{
		"apiVersion": k.at(version), "kind": k.name,
		"metadata": object{"name": name, "labels": object{workerLabel: fmt.Sprint(worker)}},
		"spec":     spec,
	}
}

// spec makes one at a version.
func (k kind) spec(version string, worker, turn int) object {
	if version == hubVersion {
		return k.hub(worker, turn)
	}
	return k.spoke(worker, turn)
}

// workerLabel says which worker an object belongs to, and turnAnnotation how often it was changed.
const (
	workerLabel    = "soak.fairlead.dev/worker"
	turnAnnotation = "soak.fairlead.dev/turn"
)

// annotate returns a copy of an object that was read, with the annotation set.
func annotate(read object, turn int) object {
	changed := maps.Clone(read)
	metadata, _ := read["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[turnAnnotation] = fmt.Sprint(turn)
	metadata["annotations"] = annotations
	changed["metadata"] = metadata
	return changed
}
