// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package hubspoke

import (
	"fmt"
	"maps"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// object is a Kubernetes object taken apart: its type, its metadata, and the rest.
type object struct {
	kind     any
	version  string
	metadata tree
	body     tree
}

func parseObject(raw []byte) (object, error) {
	body, err := parseTree(raw)
	if err != nil {
		return object{}, fmt.Errorf("cannot convert: %w", err)
	}
	o := object{kind: body["kind"], body: body}
	o.version, _ = body["apiVersion"].(string)
	// Metadata may be absent: server-side apply converts such objects. It must be there in the
	// answer, or the API server refuses it (kubernetes/kubernetes#117356).
	if metadata, ok := body["metadata"].(map[string]any); ok {
		o.metadata = metadata
	} else {
		o.metadata = tree{}
	}
	for key, value := range body {
		if value == nil || key == "apiVersion" || key == "kind" || key == "metadata" {
			delete(body, key) // a null part is an absent one
		}
	}
	return o, nil
}

func (o object) apiVersion() string { return o.version }

// annotations are nil where there are none. A value that is no string cannot be kept: the API
// server's own metadata never has one.
func (o object) annotations() map[string]string {
	members, _ := o.metadata["annotations"].(map[string]any)
	annotations := make(map[string]string, len(members))
	for key, value := range members {
		if text, ok := value.(string); ok {
			annotations[key] = text
		}
	}
	return annotations
}

// render writes the object at its new version.
func (o object) render(apiVersion string, r result) []byte {
	annotations := o.annotations()
	_, hub := annotations[common.ConversionDataAnnotation]
	_, spoke := annotations[common.V1Alpha1DataAnnotation]
	if (hub || spoke || r.value != "") && writable(annotations) {
		delete(annotations, common.ConversionDataAnnotation)
		delete(annotations, common.V1Alpha1DataAnnotation)
		if r.value != "" {
			annotations[r.annotation] = r.value
		}
		delete(o.metadata, "annotations")
		if len(annotations) > 0 {
			o.metadata["annotations"] = annotations
		}
	}
	out := append([]byte(`{"apiVersion":`), marshal(apiVersion)...)
	if o.kind != nil {
		out = append(append(out, `,"kind":`...), marshal(o.kind)...)
	}
	out = append(append(out, `,"metadata":`...), marshal(o.metadata)...)
	for _, key := range slices.Sorted(maps.Keys(r.body)) {
		out = append(append(out, ','), marshal(key)...)
		out = append(append(out, ':'), marshal(r.body[key])...)
	}
	return append(out, '}')
}

// writable says whether the API server takes other annotations than these. It validates annotations
// after a conversion where they have changed, and refuses those that stand in etcd already and never
// would have got there today: then a restore annotation would make every list of the kind fail. Such an
// object goes without one, and the annotations stay as they are.
func writable(all map[string]string) bool {
	others := maps.Clone(all)
	delete(others, common.ConversionDataAnnotation)
	delete(others, common.V1Alpha1DataAnnotation)
	return len(apivalidation.ValidateAnnotations(others, field.NewPath("metadata", "annotations"))) == 0
}
