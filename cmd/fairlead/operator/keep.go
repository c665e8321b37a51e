// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/webhooks/admission"
	"github.com/fairlead-dev/fairlead/webhooks/conversion/hubspoke"
)

// keeper keeps what an update cannot express at its version from the stored object.
type keeper struct{ converter *hubspoke.Converter }

// mostNamed is how many fields a warning names.
const mostNamed = 10

func (k keeper) keep(req admission.Request, object, stored []byte) (admission.Kept, error) {
	if req.RequestKind.Version == spoke {
		return k.hubFields(object, stored)
	}
	return k.spokeFields(object, stored)
}

// hubFields keeps the fields that only v1 has in an update at v1alpha1.
func (k keeper) hubFields(object, stored []byte) (admission.Kept, error) {
	kept, err := k.converter.Keep(object, stored)
	if err != nil || kept.Spec == nil {
		return admission.Kept{}, err
	}
	named := kept.Fields[:min(len(kept.Fields), mostNamed)]
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

// spokeFields keeps the fields that only v1alpha1 has in an update at v1: they are all in one annotation.
// One that nothing can be read from may go.
func (k keeper) spokeFields(object, stored []byte) (admission.Kept, error) {
	is, err := annotationsOf(object)
	if err != nil {
		return admission.Kept{}, err
	}
	was, err := annotationsOf(stored)
	if err != nil {
		return admission.Kept{}, err
	}
	const name = common.V1Alpha1DataAnnotation
	saved := was[name]
	if is[name] == saved || saved != "" && (len(saved) > common.MaxRestoreBytes || !hubspoke.Readable(saved)) {
		return admission.Kept{}, nil
	}
	return admission.Kept{
		Annotations: map[string]string{name: saved},
		Warnings: []string{fmt.Sprintf("metadata.annotations[%s]: stays as it is stored, since it holds what only %s can express: write that at %s",
			name, spoke, spoke)},
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
