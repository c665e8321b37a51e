// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package roundtrip

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// smallObject is a size, in bytes of JSON, below which no restore annotation can be too large: it holds the
// object once and a digest, and escaping takes at most six bytes for one.
const smallObject = common.MaxRestoreBytes / 8

// restorer measures restore annotations. It is a *hubspoke.Converter.
type restorer interface {
	RestoreBytes(raw []byte, toVersion string) (int, error)
}

// Validate refuses an object that could not be read at its other version without a loss: whose restore
// annotation would be too large, or would not fit beside the other annotations, or did not fit when the
// object was converted from the version at which it was written. Old is nil on a create. A stored object may
// still be edited, as long as that makes nothing worse, and it can always be deleted.
func Validate[T any](converter *hubspoke.Converter, req admission.Request, obj, old *T) field.ErrorList {
	if old == nil {
		return restorable(converter, spoke, req.RequestKind.Version, obj, nil)
	}
	return restorable(converter, spoke, req.RequestKind.Version, obj, old)
}

func restorable(measure restorer, toVersion, written string, obj, old any) field.ErrorList {
	is, err := measured(measure, toVersion, obj)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, fmt.Errorf("measure the conversion to %s: %w", toVersion, err))}
	}
	var was restoration
	if old != nil {
		if was, err = measured(measure, toVersion, old); err != nil {
			was = restoration{}
		}
	}
	path := field.NewPath("metadata", "annotations")
	switch {
	case is.deleted:
		return nil
	case is.size > common.MaxRestoreBytes && is.size > was.size:
		return field.ErrorList{field.Invalid(path.Key(common.ConversionDataAnnotation), fmt.Sprintf("%d bytes", is.size), fmt.Sprintf(
			"what %s cannot express would be kept in this annotation when the object is read at %s, and may take at most %d bytes: make the spec smaller, or write the object at %s",
			toVersion, toVersion, common.MaxRestoreBytes, toVersion))}
	case is.size > 0 && is.total() > hubspoke.MaxAnnotations && (was.size == 0 || is.total() > was.total()):
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("%d bytes", is.others), fmt.Sprintf(
			"what %s cannot express would take %d bytes of the annotation %s there, and does not fit into %d bytes beside %s: shorten those, or the spec",
			toVersion, is.size, common.ConversionDataAnnotation, hubspoke.MaxAnnotations, is.largest))}
	case written == toVersion && max(is.dropped, was.dropped) > 0:
		return field.ErrorList{field.Invalid(path, fmt.Sprintf("%d bytes", is.others), fmt.Sprintf(
			"%d bytes of what one version cannot express do not fit into %d bytes beside %s: shorten those, or write the object at %s",
			max(is.dropped, was.dropped), hubspoke.MaxAnnotations, is.largest, hub))}
	}
	return nil
}

// restoration is what an object needs in order to be read at its other version, in bytes.
type restoration struct {
	size    int    // of the larger restore annotation: the one that the spec needs there, or the one that the object carries
	others  int    // of all other annotations
	dropped int    // of the restore annotation that did not fit
	largest string // names the largest of the others, with their sizes
	deleted bool
}

func (r restoration) total() int { return r.size + len(common.ConversionDataAnnotation) + r.others }

// maxListed is how many annotations a refusal names.
const maxListed = 3

func measured(measure restorer, toVersion string, obj any) (restoration, error) {
	raw, err := json.Marshal(obj)
	if err != nil || len(raw) <= smallObject {
		return restoration{}, err
	}
	size, err := measure.RestoreBytes(raw, toVersion)
	if err != nil {
		return restoration{}, err
	}
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil {
		return restoration{}, err
	}
	carried := object.Annotations[common.V1Alpha1DataAnnotation]
	delete(object.Annotations, common.V1Alpha1DataAnnotation)
	delete(object.Annotations, common.ConversionDataAnnotation)
	r := restoration{size: max(size, len(carried)), dropped: hubspoke.Dropped(carried), deleted: object.DeletionTimestamp != nil}
	type sized struct {
		name  string
		bytes int
	}
	var all []sized
	for name, value := range object.Annotations {
		all = append(all, sized{name, len(name) + len(value)})
		r.others += len(name) + len(value)
	}
	slices.SortFunc(all, func(a, b sized) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.name, b.name)) })
	var named []string
	for _, annotation := range all[:min(len(all), maxListed)] {
		named = append(named, fmt.Sprintf("%s (%d bytes)", annotation.name, annotation.bytes))
	}
	r.largest = strings.Join(named, ", ")
	return r, nil
}
