// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// generated is a CRD as controller-gen writes it; each line that begins with "-" is removed.
const generated = ` ---
 apiVersion: apiextensions.k8s.io/v1
 kind: CustomResourceDefinition
 metadata:
   name: clusterrebootpolicies.autoreboot.fairlead.dev
 spec:
   group: autoreboot.fairlead.dev
   names:
     kind: ClusterRebootPolicy
     plural: clusterrebootpolicies
   scope: Cluster
   versions:
   - name: v1
     schema:
       openAPIV3Schema:
         description: A policy.
         properties:
           spec:
             description: spec is the policy.
             properties:
               template:
                 description: template is a policy.
                 properties:
                   spec:
                     description: spec is that of a RebootPolicy.
                     properties:
                       targets:
-                        description: the workloads
                         items:
-                          description: a workload
                           properties:
                             description:
-                              description: what it is
                               type: string
                           type: object
                         type: array
                     type: object
                 type: object
             type: object
         type: object
     served: true
     storage: true
   - deprecated: true
     name: v1alpha1
     schema:
       openAPIV3Schema:
         description: A policy.
         properties:
           spec:
-            description: spec is the policy.
             properties:
               labels:
                 additionalProperties:
-                  description: a label
                   type: string
                 type: object
             type: object
         type: object
     served: true
     storage: false
`

func TestWhatAnotherSchemaDescribesIsNotDescribedAgain(t *testing.T) {
	var before, want strings.Builder
	for line := range strings.Lines(generated) {
		before.WriteString(line[1:])
		if line[0] != '-' {
			want.WriteString(line[1:])
		}
	}
	got, err := reduced([]byte(before.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
