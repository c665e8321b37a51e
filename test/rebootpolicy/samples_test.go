// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// What a new user does first: applies the samples, sees that all is well, changes the ConfigMap as the
// sample says, and watches the restart.
func TestTheSamplesAreReadyAndRestartWhatTheySay(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	s.Apply(strings.ReplaceAll(s.Kubectl("kustomize", framework.Root+"/config/samples"), "namespace: default", "namespace: "+s.Namespace))

	for _, kind := range []string{"ExternalService", "RebootPolicy"} {
		apiVersion := map[string]string{"ExternalService": "networking.fairlead.dev/v1", "RebootPolicy": "autoreboot.fairlead.dev/v1"}[kind]
		s.Eventually(func() error {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion(apiVersion)
			list.SetKind(kind + "List")
			if err := s.Client.List(t.Context(), list, client.InNamespace(s.Namespace)); err != nil {
				return err
			}
			if len(list.Items) < 2 {
				return fmt.Errorf("%d objects of kind %s", len(list.Items), kind)
			}
			var problems []error
			for _, object := range list.Items {
				problems = append(problems, isReady(object))
			}
			return errors.Join(problems...)
		})
	}
	s.available(deployment, "payments-api")
	s.watching("payments", 1)

	s.Kubectl("patch", "configmap", "payments-config", "--type=merge", "-p", `{"data":{"LOG_LEVEL":"debug"}}`)
	s.succeeded("payments", 1)
	s.restarted(deployment, "payments-api", 1)
}

// isReady returns nil once an object is Ready.
func isReady(object unstructured.Unstructured) error {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s: %v", object.GetName(), conditions)
}
