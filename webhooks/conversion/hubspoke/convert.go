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
	"github.com/fairlead-dev/fairlead/webhooks/internal/jsonindex"
)

// Convert returns the object at another version of its kind, given as a bare version such as
// "v1". An object that is at that version is returned unchanged. It fails only where raw is no JSON object, or
// either version is not one of the pair's, which no API server sends.
func (c *Converter) Convert(raw []byte, toVersion string) ([]byte, error) {
	document := jsonindex.NewDocument()
	defer document.Release()
	object, err := document.Read(raw)
	if err != nil {
		converted, err := c.total(raw, toVersion) // which converts it nevertheless, or returns the error
		return converted.Object, err
	}
	converted, err := c.AppendConverted(nil, object, toVersion)
	return converted.Object, err
}

// Converted is an object at another version.
type Converted struct {
	Object []byte
	// Saved is the size of the restore annotation that it needed, in bytes; 0 for none.
	Saved int
	// Dropped reports whether something of the source did not fit into that annotation.
	Dropped bool
}

// AppendConverted is Convert for an object that has been read. It appends the result to out.
func (c *Converter) AppendConverted(out []byte, object jsonindex.Value, toVersion string) (Converted, error) {
	if converted, ok := c.fast(out, object, toVersion); ok {
		return converted, nil
	}
	converted, err := c.total(object.Bytes(), toVersion)
	converted.Object = append(out, converted.Object...)
	return converted, err
}

// total converts any object, through trees.
func (c *Converter) total(raw []byte, toVersion string) (Converted, error) {
	object, err := parseObject(raw)
	if err != nil {
		return Converted{}, err
	}
	convert, err := c.route(object.apiVersion(), toVersion)
	if err != nil {
		return Converted{}, err
	}
	if convert == nil {
		return Converted{Object: raw}, nil
	}
	return c.through(object, toVersion, convert), nil
}

// through converts an object by a conversion to a version.
func (c *Converter) through(object object, toVersion string, convert func(source) result) Converted {
	for _, u := range c.unionsBefore(toVersion) {
		object.body = u.fill(object.body)
	}
	r := convert(source{body: object.body, annotations: object.annotations()})
	converted := Converted{Object: object.render(c.apiVersions[toVersion], r), Dropped: Dropped(r.value) > 0 || r.wanted > len(r.value)}
	if !converted.Dropped {
		converted.Saved = len(r.value)
	}
	return converted
}

// written returns the view from which a conversion has just written a hub object. What a view says against its own restore
// annotation is in that of the object.
func (c *Converter) written(raw []byte) ([]byte, error) {
	object, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	return c.through(object, c.spoke, c.toWritten).Object, nil
}

// RestoreBytes returns how large the restore annotation would be that the spec of an object needs
// at another version, in bytes, whether or not it fits; 0 where nothing would be lost. The status
// does not count: it is the operator's own, and left out first.
func (c *Converter) RestoreBytes(raw []byte, toVersion string) (int, error) {
	object, err := parseObject(raw)
	if err != nil {
		return 0, err
	}
	convert, err := c.route(object.apiVersion(), toVersion)
	if err != nil || convert == nil {
		return 0, err
	}
	return convert(source{body: object.body.without([]string{"status"}), annotations: object.annotations()}).wanted, nil
}

// route returns the conversion between two versions; nil where they are the same.
func (c *Converter) route(from, toVersion string) (func(source) result, error) {
	target, known := c.apiVersions[toVersion]
	if !known {
		return nil, fmt.Errorf("cannot convert to version %q: served versions are %s and %s", toVersion, c.hub, c.spoke)
	}
	switch {
	case !c.serves(from):
		return nil, fmt.Errorf("cannot convert from apiVersion %q: served versions are %s and %s",
			from, c.apiVersions[c.hub], c.apiVersions[c.spoke])
	case from == target:
		return nil, nil
	case toVersion == c.hub:
		return c.toHub, nil
	}
	return c.toSpoke, nil
}

func (c *Converter) serves(apiVersion string) bool {
	for _, served := range c.apiVersions {
		if served == apiVersion {
			return true
		}
	}
	return false
}

// object is the parts of a Kubernetes object: its type, its metadata, and the rest.
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
	// Metadata may be absent: server-side apply converts such objects. The API server refuses a response
	// without it (kubernetes/kubernetes#117356).
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
	if (hub || spoke || r.value != "") && canAnnotate(annotations) {
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

// canAnnotate reports whether the API server accepts another annotation beside these. It validates annotations
// that a conversion has changed, also old ones in etcd that it would refuse today: a restore annotation would
// then make every LIST of the kind fail. Such an object gets none.
func canAnnotate(all map[string]string) bool {
	others := maps.Clone(all)
	delete(others, common.ConversionDataAnnotation)
	delete(others, common.V1Alpha1DataAnnotation)
	return len(apivalidation.ValidateAnnotations(others, field.NewPath("metadata", "annotations"))) == 0
}
