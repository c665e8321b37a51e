// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	autorebootv1 "github.com/fairlead-dev/fairlead/api/autoreboot/v1"
	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

var (
	// sibilant and consonantY match kinds whose plural does not end with s alone.
	sibilant   = regexp.MustCompile(`(s|x|ch|sh)$`)
	consonantY = regexp.MustCompile(`[^aeiou]y$`)
)

// ResourceOf returns the resource by which the object of a gate is read. It is the plural of its kind by the rules of
// English, as controller generators name resources. Admission reviews the right to the same resource, so that nothing
// else is read.
func ResourceOf(c *autorebootv1.ObjectCondition) schema.GroupVersionResource {
	version, _ := schema.ParseGroupVersion(c.APIVersion) // validation has parsed it before
	kind := strings.ToLower(c.Kind)
	switch {
	case sibilant.MatchString(kind):
		kind += "es"
	case consonantY.MatchString(kind):
		kind = strings.TrimSuffix(kind, "y") + "ies"
	default:
		kind += "s"
	}
	return version.WithResource(kind)
}

// IsExternalService reports whether the object of a gate is an ExternalService.
func IsExternalService(c *autorebootv1.ObjectCondition) bool {
	return c != nil && c.Kind == "ExternalService" && ResourceOf(c).Group == networkingv1.GroupVersion.Group
}

// condition checks what the schema cannot express about a gate of type Condition.
func condition(path rules.Path, c *autorebootv1.ObjectCondition) field.ErrorList {
	errs := subdomain(path.Child("name"), c.Name)
	version, err := schema.ParseGroupVersion(c.APIVersion)
	group := version.Group
	if err != nil || version.String() != c.APIVersion || len(validation.IsDNS1123Label(version.Version)) > 0 ||
		group != "" && len(validation.IsDNS1123Subdomain(group)) > 0 {
		errs = append(errs, field.Invalid(path.Child("apiVersion").Field(), c.APIVersion,
			"must be as in a manifest: a group, a slash and a version, such as apps/v1, or v1 for the core group"))
	}
	return append(errs, rules.Positive(path.Child("maxAge"), c.MaxAge)...)
}
