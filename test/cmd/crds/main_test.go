// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// generated is a CRD as controller-gen writes it; each line that begins with "-" is removed, and with "+" added.
const generated = ` ---
 apiVersion: apiextensions.k8s.io/v1
 kind: CustomResourceDefinition
 metadata:
   name: chaospods.chaos.fairlead.dev
 spec:
   group: chaos.fairlead.dev
   names:
     kind: ChaosPod
     plural: chaospods
   scope: Namespaced
   versions:
   - name: v1
     schema:
       openAPIV3Schema:
         properties:
           mode:
             default: Evict
             description: mode is how a pod goes.
             type: string
           template:
             description: template is a pod.
             properties:
               spec:
                 properties:
                   containers:
-                    description: the containers
                     items:
-                      description: a container
                       properties:
                         name:
                           type: string
                         ports:
                           items:
                             properties:
                               containerPort:
                                 format: int32
                                 type: integer
                               protocol:
-                                default: TCP
                                 type: string
                             required:
                             - containerPort
                             type: object
                           type: array
-                          x-kubernetes-list-map-keys:
-                          - containerPort
-                          - protocol
-                          x-kubernetes-list-type: map
+                          x-kubernetes-list-type: atomic
                       required:
                       - name
                       type: object
                     type: array
                     x-kubernetes-list-map-keys:
                     - name
                     x-kubernetes-list-type: map
                   nodeSelector:
                     additionalProperties:
-                      description: a label
                       type: string
                     type: object
                 type: object
             type: object
         type: object
     served: true
     storage: true
`

// version returns the lines of generated without those that begin with a mark, and without the first column.
func version(mark string) []byte {
	var text strings.Builder
	for line := range strings.Lines(generated) {
		if !strings.HasPrefix(line, mark) {
			text.WriteString(line[1:])
		}
	}
	return []byte(text.String())
}

func TestAPodTemplateHasNoDescriptionAndNoDefault(t *testing.T) {
	got, err := reduced(version("+"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(version("-")), string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheShippedDefinitionIsRewritten(t *testing.T) {
	shipped, err := os.ReadFile("../../../config/crd/bases/chaos.fairlead.dev_chaospods.yaml")
	if err != nil {
		t.Fatal(err)
	}
	again, err := reduced(shipped)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(shipped), string(again)); diff != "" {
		t.Errorf("run make generate (-shipped +rewritten):\n%s", diff)
	}
}

func TestADefinitionWithoutAPodTemplateIsRefused(t *testing.T) {
	_, err := reduced([]byte(strings.Replace(string(version("+")), "containers:", "pods:", 1)))
	if err == nil || err.Error() != "chaospods.chaos.fairlead.dev has no pod template" {
		t.Errorf("got %v", err)
	}
}
