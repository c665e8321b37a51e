// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// withWebhookPort returns manifests in which the API server finds every webhook on port. A Service
// of type ExternalName maps no ports, so the references must carry the real one.
func withWebhookPort(manifests []byte, port int) ([]byte, error) {
	objects, err := objectsIn(bytes.NewReader(manifests))
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var out bytes.Buffer
	for _, object := range objects {
		if object.GetKind() == "Service" && strings.HasSuffix(object.GetName(), "fairlead-webhook") {
			object.Object["spec"] = map[string]any{
				"type": "ExternalName", "externalName": "localhost",
				"ports": []any{map[string]any{"name": "webhook", "port": int64(443), "protocol": "TCP"}},
			}
		}
		if err := setPort(object.Object, port); err != nil {
			return nil, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		raw, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", raw)
	}
	return out.Bytes(), nil
}

// objectsIn reads a stream of YAML or JSON. Empty documents are left out.
func objectsIn(manifests io.Reader) (objects []*unstructured.Unstructured, err error) {
	for decoder := yaml.NewYAMLOrJSONDecoder(manifests, 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// setPort sets the port of each clientConfig.service of an object.
func setPort(object map[string]any, port int) error {
	if conversion, found, _ := unstructured.NestedMap(object, "spec", "conversion", "webhook", "clientConfig", "service"); found {
		conversion["port"] = int64(port)
		return unstructured.SetNestedMap(object, conversion, "spec", "conversion", "webhook", "clientConfig", "service")
	}
	hooks, found, _ := unstructured.NestedSlice(object, "webhooks")
	if !found {
		return nil
	}
	for _, hook := range hooks {
		hook, ok := hook.(map[string]any)
		if !ok {
			return fmt.Errorf("webhooks: %T is no object", hook)
		}
		if err := unstructured.SetNestedField(hook, int64(port), "clientConfig", "service", "port"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object, hooks, "webhooks")
}
