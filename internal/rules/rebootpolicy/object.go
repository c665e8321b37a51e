// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	"github.com/fairlead-dev/fairlead/internal/fieldpath"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

// maxSource is the length of a source in the status.
const maxSource = 273

// ObjectSource is a field of an object as the status has it: Object/certificates.cert-manager.io/login/status.revision.
func ObjectSource(name string, o *autorebootv1.ObjectField) string {
	group, _ := GroupVersionOf(o)
	if group != "" {
		group = "." + group
	}
	return string(autorebootv1.SourceObject) + "/" + o.Resource + group + "/" + name + "/" + o.FieldPath
}

// GroupVersionOf returns the API group of an object, which is empty for that of Pods, and its version.
func GroupVersionOf(o *autorebootv1.ObjectField) (group, version string) {
	group, version, hasGroup := strings.Cut(o.APIVersion, "/")
	if !hasGroup {
		return "", group
	}
	return group, version
}

func objectSemantics(path rules.Path, s *autorebootv1.ConfigSource) field.ErrorList {
	o := s.Object
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	group, version := GroupVersionOf(o)
	isGroup := group == "" && !strings.HasPrefix(o.APIVersion, "/") || len(validation.IsDNS1123Subdomain(group)) == 0
	if !isGroup || len(validation.IsDNS1035Label(version)) > 0 {
		errs = append(errs, field.Invalid(path.Child("apiVersion").Field(), o.APIVersion, "must be a group and a version, such as cert-manager.io/v1, or v1"))
	}
	errs = append(errs, rules.Reasons(path.Child("resource"), o.Resource, validation.IsDNS1035Label)...)
	if group == "" && (o.Resource == "secrets" || o.Resource == "configmaps") {
		errs = append(errs, field.Invalid(path.Child("resource").Field(), o.Resource, "must not be secrets or configmaps: use kind Secret or ConfigMap, with keys"))
	}
	if _, err := fieldpath.Parse(o.FieldPath); err != nil {
		errs = append(errs, field.Invalid(path.Child("fieldPath").Field(), o.FieldPath, "must be the path of a field, such as status.revision: "+err.Error()))
	}
	if len(ObjectSource(s.Name, o)) > maxSource {
		errs = append(errs, field.Invalid(path.Field(), o.FieldPath, fmt.Sprintf(
			"group, resource, fieldPath and the name of the object must have at most %d characters together", maxSource-len("Object/.//"))))
	}
	return errs
}
