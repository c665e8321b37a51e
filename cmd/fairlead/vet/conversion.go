// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/api/common"
)

// smallObject is a size, in bytes of JSON, below which no restore annotation can be too large.
const smallObject = common.MaxRestoreBytes / 8

// nearLimit is a size, in bytes, from which on a restore annotation is spoken of before it is too large.
const nearLimit = common.MaxRestoreBytes * 3 / 4

// conversion takes the object to every other version and back, and sees that nothing is lost.
func (c *checking) conversion(versions []string, raw []byte) {
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
		c.annotations(version, raw, view)
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
		if path, lost := difference(ordinary(c.data), ordinary(after), "metadata", true); lost {
			c.add(RuleConversion, path, fmt.Sprintf("does not survive the way to %s and back", version))
		}
	}
}

// annotations sees that what a view has to carry fits.
func (c *checking) annotations(version string, raw, view []byte) {
	if c.served == nil && len(raw) <= smallObject {
		return
	}
	size, err := c.kind.converter.RestoreBytes(raw, version)
	if err != nil {
		c.add(RuleConversion, "", err.Error())
		return
	}
	c.restore = max(c.restore, size)
	if c.served != nil && size > nearLimit && size <= common.MaxRestoreBytes {
		near := c.place(Warning, RuleConversion, fmt.Sprintf("spec: what %s cannot express takes %d bytes of an annotation there, of the %d that it may take",
			version, size, common.MaxRestoreBytes))
		c.put(near)
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

// ordinary returns the metadata without the annotations of the conversion itself, which may come and
// go.
func ordinary(object map[string]any) map[string]any {
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
// set, of after that is not in before. A null is as good as nothing.
func difference(before, after any, path string, exact bool) (string, bool) {
	switch before := before.(type) {
	case nil:
		return path, exact && after != nil
	case map[string]any:
		object, ok := after.(map[string]any)
		if !ok {
			return path, true
		}
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if at, lost := difference(before[key], object[key], join(path, key), exact); lost {
				return at, true
			}
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if _, had := before[key]; exact && !had && object[key] != nil {
				return join(path, key), true
			}
		}
		return "", false
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
