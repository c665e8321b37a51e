// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package roundtrip

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

const (
	hub   = "v1"
	spoke = "v1alpha1"
)

// maxNamed is how many fields a warning names.
const maxNamed = 10

// Keeper returns the Keep of an admission.Mutator.
func Keeper(converter *hubspoke.Converter) func(req admission.Request, object, stored []byte) (admission.Kept, error) {
	return func(req admission.Request, object, stored []byte) (admission.Kept, error) {
		switch {
		case req.RequestKind.Version != spoke:
			return keepSpokeFields(converter, object, stored)
		case stored == nil:
			return admission.Kept{}, nil
		}
		return keepHubFields(converter, object, stored)
	}
}

// keepHubFields keeps the fields that only v1 has in an update at v1alpha1.
func keepHubFields(converter *hubspoke.Converter, object, stored []byte) (admission.Kept, error) {
	kept, err := converter.Keep(object, stored)
	if err != nil || kept.Spec == nil {
		return admission.Kept{}, err
	}
	named := kept.Fields[:min(len(kept.Fields), maxNamed)]
	more := ""
	if n := len(kept.Fields) - len(named); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return admission.Kept{
		Spec:        kept.Spec,
		Annotations: map[string]string{common.V1Alpha1DataAnnotation: kept.Saved},
		Warnings: []string{fmt.Sprintf("v1 spec (%s%s): what %s cannot express stays as it is stored; the annotation %s is missing or not that of the stored object",
			strings.Join(named, ", "), more, spoke, common.ConversionDataAnnotation)},
	}, nil
}

// keepSpokeFields keeps the fields that only v1alpha1 has in a write at v1: they are all in one annotation. One that cannot be read
// is removed, since v1alpha1 would show it to clients whose whole list it breaks; what did not fit is noted there.
// A valid object has little that only v1alpha1 has, such as an empty list. But a writer at v1 who could change the annotation
// would choose what a later writer at v1alpha1, with other rights, sends back as the spec.
func keepSpokeFields(converter *hubspoke.Converter, object, stored []byte) (admission.Kept, error) {
	is, err := annotationsOf(object)
	if err != nil {
		return admission.Kept{}, err
	}
	const name = common.V1Alpha1DataAnnotation
	given, saved := is[name], is[name]
	if stored != nil {
		was, err := annotationsOf(stored)
		if err != nil {
			return admission.Kept{}, err
		}
		if saved = was[name]; saved != "" && (len(saved) > common.MaxRestoreBytes || !converter.IsReadable(saved)) {
			saved = given
		}
	}
	why := fmt.Sprintf("stays as it is stored, since it holds what only %s can express: write that at %s", spoke, spoke)
	if saved != "" && len(saved) <= common.MaxRestoreBytes && !converter.IsReadable(saved) {
		saved, why = "", fmt.Sprintf("is removed, since it is not what %s has", spoke)
	}
	if saved == given {
		return admission.Kept{}, nil
	}
	return admission.Kept{
		Annotations: map[string]string{name: saved},
		Warnings:    []string{fmt.Sprintf("metadata.annotations[%s]: %s", name, why)},
	}, nil
}

func annotationsOf(object []byte) (map[string]string, error) {
	var carrier struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	err := json.Unmarshal(object, &carrier)
	return carrier.Metadata.Annotations, err
}
