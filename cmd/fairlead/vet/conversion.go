// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/api/common"
)

// smallObject is a size, in bytes of JSON, below which no restore annotation can be too large.
const smallObject = common.MaxRestoreBytes / 8

// nearLimit is the size, in bytes, above which a restore annotation is reported before it is too large.
const nearLimit = common.MaxRestoreBytes * 3 / 4

// checkConversion converts the object to every other version and back, and reports what is lost.
func (c *objectCheck) checkConversion(versions []string, raw []byte) {
	for _, version := range versions {
		if version == c.version {
			continue
		}
		view, err := c.atHub, error(nil)
		if version != hub || view == nil {
			view, err = c.kind.converter.Convert(raw, version)
		}
		if err != nil {
			c.add(RuleConversion, "", fmt.Sprintf("cannot be converted to %s: %v", version, err))
			continue
		}
		c.checkAnnotations(version, raw, view)
		again, err := c.kind.converter.Convert(view, c.version)
		var after map[string]any
		if err == nil {
			err = json.Unmarshal(again, &after)
		}
		if err != nil {
			c.add(RuleConversion, "", fmt.Sprintf("cannot be converted from %s back to %s: %v", version, c.version, err))
			continue
		}
		if path, lost := difference(c.data["spec"], after["spec"], "spec", c.version == hub); lost {
			c.add(RuleConversion, path, fmt.Sprintf("does not survive the way to %s and back", version))
		}
		if path, lost := difference(ownMetadata(c.data), ownMetadata(after), "metadata", true); lost {
			c.add(RuleConversion, path, fmt.Sprintf("does not survive the way to %s and back", version))
		}
	}
}

// checkAnnotations reports annotations of a view that are too large.
func (c *objectCheck) checkAnnotations(version string, raw, view []byte) {
	if c.served == nil && len(raw) <= smallObject {
		return
	}
	size, err := c.kind.converter.RestoreBytes(raw, version)
	if err != nil {
		c.add(RuleConversion, "", err.Error())
		return
	}
	c.restoreBytes = max(c.restoreBytes, size)
	if c.served != nil && size > nearLimit && size <= common.MaxRestoreBytes {
		near := c.findingFor(Warning, RuleConversion, fmt.Sprintf("spec: what %s cannot express takes %d bytes of an annotation there, of the %d that it may take",
			version, size, common.MaxRestoreBytes))
		c.addFinding(near)
	}
	if size > common.MaxRestoreBytes {
		c.add(RuleConversion, "spec", fmt.Sprintf("what %s cannot express takes %d bytes of an annotation there, and may take %d; make the spec smaller, or write it at %s",
			version, size, common.MaxRestoreBytes, version))
	}
	var carries struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(view, &carries); err != nil {
		c.add(RuleConversion, "", err.Error())
		return
	}
	total := 0
	for key, value := range carries.Metadata.Annotations {
		total += len(key) + len(value)
	}
	if total > validation.TotalAnnotationSizeLimitB {
		c.add(RuleConversion, "metadata.annotations", fmt.Sprintf("take %d bytes together at %s, and may take %d; make them, or the spec, smaller",
			total, version, validation.TotalAnnotationSizeLimitB))
	}
}

// ownMetadata returns the metadata without the annotations of the conversion itself, which may change.
func ownMetadata(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, has := metadata["annotations"].(map[string]any)
	if !has {
		return metadata
	}
	metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
	delete(annotations, common.ConversionDataAnnotation)
	delete(annotations, common.V1Alpha1DataAnnotation)
	delete(metadata, "annotations")
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return metadata
}

// difference returns the path of the first value of before that is not in after, or, where exact is
// set, of after that is not in before. A null counts as absent.
func difference(before, after any, path string, exact bool) (string, bool) {
	switch before := before.(type) {
	case nil:
		return path, exact && after != nil
	case map[string]any:
		if object, ok := after.(map[string]any); ok {
			return differenceOfObjects(before, object, path, exact)
		}
		return path, true
	case []any:
		list, ok := after.([]any)
		if !ok || len(list) != len(before) {
			return path, true
		}
		for i := range before {
			if at, lost := difference(before[i], list[i], path+"["+strconv.Itoa(i)+"]", exact); lost {
				return at, true
			}
		}
		return "", false
	}
	return path, !reflect.DeepEqual(before, after)
}

func differenceOfObjects(before, after map[string]any, path string, exact bool) (string, bool) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if at, lost := difference(before[key], after[key], join(path, key), exact); lost {
			return at, true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, had := before[key]; exact && !had && after[key] != nil {
			return join(path, key), true
		}
	}
	return "", false
}

// maxManagers bounds the entries of managedFields that are named of one object.
const maxManagers = 5

// checkStored checks what a cluster stores in an object in addition to what users write.
func (c *objectCheck) checkStored() {
	if c.served == nil {
		return
	}
	metadata, _ := c.data["metadata"].(map[string]any)
	c.checkManagers(metadata["managedFields"])
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, has := annotations[common.ConversionDataAnnotation]; has && c.version == hub {
		c.warnAnnotation(common.ConversionDataAnnotation, "belongs on the view at another version alone, and nothing reads it here: remove it")
	}
	switch value, has := annotations[common.V1Alpha1DataAnnotation].(string); {
	case !has || c.version != hub:
	case len(value) > common.MaxRestoreBytes:
		c.warnAnnotation(common.V1Alpha1DataAnnotation, fmt.Sprintf("takes %d bytes, and may take %d: the object cannot be written as it is; remove it, and with it what v1alpha1 said and v1 cannot",
			len(value), common.MaxRestoreBytes))
	case !restorable(value):
		c.warnAnnotation(common.V1Alpha1DataAnnotation, "cannot be read, and counts as if it were not there: "+
			"what v1alpha1 said and v1 cannot is lost; remove it, or put back what was there")
	}
}

func (c *objectCheck) warnAnnotation(annotation, message string) {
	c.addFinding(c.findingFor(Warning, RuleConversion, "metadata.annotations["+annotation+"]: "+message))
}

// restorable reports whether a restore annotation of a v1 object can be read.
func restorable(value string) bool {
	var record struct {
		Digest *string        `json:"digest"`
		Spoke  map[string]any `json:"spoke"`
	}
	return json.Unmarshal([]byte(value), &record) == nil && record.Digest != nil && record.Spoke != nil
}

// checkManagers reports the managers that wrote the object at a version that is no longer served: server-side
// apply to it fails (kubernetes/kubernetes#111937).
func (c *objectCheck) checkManagers(managed any) {
	entries, _ := managed.([]any)
	named := 0
	for i, entry := range entries {
		fields, _ := entry.(map[string]any)
		apiVersion, _ := fields["apiVersion"].(string)
		manager, _ := fields["manager"].(string)
		group, version, _ := strings.Cut(apiVersion, "/")
		if group != c.kind.Group || slices.Contains(c.served, version) {
			continue
		}
		if named++; named > maxManagers {
			return
		}
		c.addFinding(c.findingFor(Warning, RuleStorage, fmt.Sprintf("metadata.managedFields[%d]: manager %q wrote at %.100s, which is not served: "+
			"server-side apply to this object fails until you remove the entry", i, manager, apiVersion)))
	}
}
