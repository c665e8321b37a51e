// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// kind is one of Fairlead's, with what there is of it in a cluster that stored v1alpha1.
type kind struct {
	name, resource, group string
	// count is how many good objects there are: of the first kind that is migrated as many as take seconds.
	// TestAPassThatEndsIsMadeAgainByTheNextLeader migrates more than a page.
	count int
	// old and new are specs at v1alpha1 and at v1 in YAML, with the object's number in place of %d. Of
	// each the other version cannot say all. They say themselves what v1alpha1 implies: conversion does.
	old, new string
	// edit is what users change of either, at v1alpha1 and at v1.
	oldEdit, newEdit string
	// refused are specs at v1alpha1 that the schema lets pass and the rules of today do not.
	refused map[string]string
	// foreign are whole objects, but for their metadata, that no schema lets pass.
	foreign map[string]string
	// stuck are those of all the above that the API server lets no client write, whatever the write says.
	stuck []string
}

var kinds = []kind{
	{
		name: "ChaosPod", resource: "chaospods", group: "chaos.fairlead.dev", count: 120,
		stuck:   []string{longName},
		old:     `{template: {metadata: {labels: {app: "canary-%[1]d"}}, spec: {containers: [{name: c, image: nginx}]}}, nextStop: "2099-01-01T00:00:00Z"}`,
		new:     `{suspend: true, target: {workload: {kind: Deployment, name: "web-%[1]d"}}, schedule: {interval: 1h}, verification: {timeout: 3m}}`,
		oldEdit: `{"spec":{"nextStop":"2098-01-01T00:00:%02dZ"}}`, newEdit: `{"spec":{"schedule":{"interval":"%dm"}}}`,
		refused: map[string]string{
			"no-image":      `{template: {spec: {containers: [{name: "Not A Name"}]}}, nextStop: "2099-01-01T00:00:00Z"}`,
			"no-containers": `{template: {spec: {containers: []}}}`,
		},
		foreign: map[string]string{
			"no-spec": `{}`, "text-spec": `{spec: text}`, "list-spec": `{spec: [1, null]}`, "null-spec": `{spec: null}`,
			"mistyped": `{spec: {template: {spec: {containers: {name: c}}}, nextStop: 5}}`,
			"unknown":  `{spec: {template: {spec: {containers: [{name: c, image: nginx}]}}, shade: {deep: [1]}}}`,
		},
	},
	{
		name: "ExternalService", resource: "externalservices", group: "networking.fairlead.dev", count: 60,
		stuck:   []string{longName},
		old:     `{hosts: [192.0.2.%[1]d], ports: {http: 80, https: 443}, refreshSeconds: 86400}`,
		new:     `{suspend: true, deletionPolicy: Orphan, ports: [{name: sql, port: 5432, targetPort: 6000}], endpoints: [{name: east, zone: eu-east, addresses: [192.0.2.%[1]d]}]}`,
		oldEdit: `{"spec":{"refreshSeconds":%d}}`, newEdit: `{"spec":{"endpoints":[{"name":"east","zone":"eu-east","addresses":["192.0.2.%d"]}]}}`,
		refused: map[string]string{
			"loopback": `{hosts: [127.0.0.1], ports: {http: 80}}`,
			"no-host":  `{hosts: ["a b"], ports: {"WEB_1": 80}}`,
		},
		foreign: map[string]string{
			"no-spec": `{}`, "text-spec": `{spec: text}`, "list-spec": `{spec: [1, null]}`, "null-spec": `{spec: null}`,
			"mistyped": `{spec: {hosts: {a: b}, ports: [http, 80], refreshSeconds: often}}`,
			"unknown":  `{spec: {hosts: [192.0.2.1], ports: {http: 80}, shade: {deep: [1]}}}`,
		},
	},
	{
		name: "RebootPolicy", resource: "rebootpolicies", group: "autoreboot.fairlead.dev", count: 60,
		stuck: []string{longName},
		old: `{target: {kind: Deployment, name: "web-%[1]d"}, policies: [{name: wedged, comment: restart when stuck, trigger: {probe: {
  httpGet: {path: /healthz, port: 8080}, periodSeconds: 30, timeoutSeconds: 5, failureThreshold: 5}}}]}`,
		new:     `{cooldown: 7m, targets: [{kind: Deployment, name: "web-%[1]d"}, {kind: Deployment, name: api}], triggers: [{name: up, type: Probe, probe: {tcpSocket: {port: 80}}}]}`,
		oldEdit: `{"spec":{"target":{"name":"web-%d"}}}`, newEdit: `{"spec":{"cooldown":"%dm"}}`,
		refused: map[string]string{
			"named-port": `{target: {kind: Deployment, name: web-1}, policies: [{name: up, trigger: {probe: {tcpSocket: {port: http}}}}]}`,
			"no-name":    `{target: {kind: Deployment}}`,
		},
		foreign: map[string]string{
			"no-spec": `{}`, "text-spec": `{spec: text}`, "list-spec": `{spec: [1, null]}`, "null-spec": `{spec: null}`,
			"other-kind": `{spec: {target: {kind: CronJob, name: b}, policies: [{name: up, trigger: {probe: {tcpSocket: {port: 80}}}}]}}`,
			"mistyped":   `{spec: {target: web, policies: {a: b}}}`,
			"unknown":    `{spec: {target: {kind: Deployment, name: web-1}, policies: [{name: up, trigger: {probe: {tcpSocket: {port: 80}}}}], shade: {deep: [1]}}}`,
		},
	},
}

// definition is the name of the kind's CustomResourceDefinition.
func (k kind) definition() string { return k.resource + "." + k.group }

func (k kind) at(version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: k.group, Version: version, Resource: k.resource}
}

// object makes one of a spec in YAML.
func (k kind) object(version, name, spec string) (*unstructured.Unstructured, error) {
	return k.whole(version, name, "{spec: "+spec+"}")
}

// whole makes an object of what it is but for its metadata.
func (k kind) whole(version, name, body string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(body), &object.Object); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.name, name, err)
	}
	object.SetAPIVersion(k.group + "/" + version)
	object.SetKind(k.name)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object, nil
}
