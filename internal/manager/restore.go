// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
)

// smallObject is a size, in bytes of JSON, below which no restore annotation can be too large: it
// holds the object once and a digest, and escaping takes at most six bytes for one.
const smallObject = common.MaxRestoreBytes / 8

// restorer measures restore annotations.
type restorer interface {
	RestoreBytes(raw []byte, toVersion string) (int, error)
}

// restorable refuses an object whose restore annotation would be too large: it could not be read
// at its other version any more, and would break LIST for all its neighbors there. Old is nil on
// a create; an object that is stored already may still be edited, as long as it does not grow.
func restorable(measure restorer, toVersion string, obj, old any) field.ErrorList {
	size, err := restoreSize(measure, toVersion, obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("measure the conversion to %s: %w", toVersion, err))}
	}
	if size <= common.MaxRestoreBytes {
		return nil
	}
	if old != nil {
		if before, err := restoreSize(measure, toVersion, old); err == nil && size <= before {
			return nil
		}
	}
	path := field.NewPath("metadata", "annotations").Key(common.ConversionDataAnnotation)
	return field.ErrorList{field.Invalid(path, fmt.Sprintf("%d bytes", size), fmt.Sprintf(
		"what %s cannot express would be kept in this annotation when the object is read at %s, and may take at most %d bytes: make the spec smaller, or write the object at %s",
		toVersion, toVersion, common.MaxRestoreBytes, toVersion))}
}

// restoreSize is the size of the larger restore annotation, in bytes: the one that the object's
// spec needs at the other version, or the one that the object carries.
func restoreSize(measure restorer, toVersion string, obj any) (int, error) {
	raw, err := json.Marshal(obj)
	if err != nil || len(raw) <= smallObject {
		return 0, err
	}
	size, err := measure.RestoreBytes(raw, toVersion)
	if err != nil {
		return 0, err
	}
	var carried struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &carried); err != nil {
		return 0, err
	}
	return max(size, len(carried.Metadata.Annotations[common.V1Alpha1DataAnnotation])), nil
}
