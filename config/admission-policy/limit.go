// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// limit is what a schema demands of one value beside its CEL rules: in CEL, and in words.
type limit struct {
	conditions, words []string
}

func (l *limit) add(words, condition string, values ...any) {
	l.conditions = append(l.conditions, fmt.Sprintf(condition, values...))
	if words != "" {
		l.words = append(l.words, words)
	}
}

// limitOf reads the keywords of one node of a schema. The type comes first, so that nothing after it
// is asked of a value of another type.
func limitOf(s *apiextensionsv1.JSONSchemaProps) (*limit, error) {
	l := &limit{}
	switch {
	case s.XIntOrString:
		l.add("an integer or a percentage", "(type(self) == int || type(self) == string && size(self) <= %d)", or(s.MaxLength, 32))
		if s.Pattern != "" {
			l.add("", "(type(self) == int || self.matches(%s))", quote(s.Pattern))
		}
	case s.Type == "string":
		l.text(s)
	case s.Type == "integer":
		l.number(s)
	case s.Type == "boolean":
		l.add("true or false", "type(self) == bool")
	case s.Type == "array":
		l.list(s)
	case s.Type == "object":
		l.object(s)
	default:
		return nil, fmt.Errorf("a value of type %q: no policy can be derived; teach package admissionpolicy about it", s.Type)
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, raw := range s.Enum {
			var value string
			if err := json.Unmarshal(raw.Raw, &value); err != nil {
				return nil, fmt.Errorf("an enum of other values than texts: %w", err)
			}
			values = append(values, quote(value))
		}
		l.add("one of "+strings.Join(values, ", "), "self in [%s]", strings.Join(values, ", "))
	}
	return l, nil
}

func (l *limit) text(s *apiextensionsv1.JSONSchemaProps) {
	l.add("", "type(self) == string")
	if s.MinLength != nil || s.MaxLength != nil {
		l.add(fmt.Sprintf("text of %s characters", span(s.MinLength, s.MaxLength)), "%s", sized(s.MinLength, s.MaxLength))
	}
	if s.Pattern != "" {
		l.add("of the form "+s.Pattern, "self.matches(%s)", quote(s.Pattern))
	}
}

func (l *limit) number(s *apiextensionsv1.JSONSchemaProps) {
	l.add("an integer", "type(self) == int")
	least, most := s.Minimum, s.Maximum
	if s.Format == "int32" { // which every limit of ours lies within
		least, most = cmp.Or(least, new(float64(math.MinInt32))), cmp.Or(most, new(float64(math.MaxInt32)))
	}
	if least != nil {
		l.add(fmt.Sprintf("at least %d", int64(*least)), "self >= %d", int64(*least))
	}
	if most != nil {
		l.add(fmt.Sprintf("at most %d", int64(*most)), "self <= %d", int64(*most))
	}
}

func (l *limit) list(s *apiextensionsv1.JSONSchemaProps) {
	l.add("a list", "type(self) == list")
	if s.MinItems != nil || s.MaxItems != nil {
		l.add(fmt.Sprintf("of %s items", span(s.MinItems, s.MaxItems)), "%s", sized(s.MinItems, s.MaxItems))
	}
	switch {
	case s.XListType == nil:
	case *s.XListType == "set":
		l.add("without any value twice", "self.all(a, self.exists_one(b, a == b))")
	case *s.XListType == "map":
		var same []string
		for _, key := range s.XListMapKeys {
			same = append(same, fmt.Sprintf("a.%[1]s == b.%[1]s", key))
		}
		l.add("without two of the same "+strings.Join(s.XListMapKeys, " and "), "self.all(a, self.exists_one(b, %s))", strings.Join(same, " && "))
	}
}

func (l *limit) object(s *apiextensionsv1.JSONSchemaProps) {
	l.add("", "type(self) == map")
	if s.MinProperties != nil || s.MaxProperties != nil {
		l.add(fmt.Sprintf("a map of %s entries", span(s.MinProperties, s.MaxProperties)), "%s", sized(s.MinProperties, s.MaxProperties))
	}
	if len(s.Required) > 0 {
		l.add("set with "+strings.Join(slices.Sorted(slices.Values(s.Required)), " and "), "%s", present(s))
	}
}

// present returns the CEL expression that what a schema requires is there.
func present(s *apiextensionsv1.JSONSchemaProps) string {
	var there []string
	for _, name := range slices.Sorted(slices.Values(s.Required)) {
		there = append(there, fmt.Sprintf("has(self.%[1]s) && self.%[1]s != null", name))
	}
	return strings.Join(there, " && ")
}

func sized(least, most *int64) string {
	var conditions []string
	if least != nil {
		conditions = append(conditions, fmt.Sprintf("size(self) >= %d", *least))
	}
	if most != nil {
		conditions = append(conditions, fmt.Sprintf("size(self) <= %d", *most))
	}
	return strings.Join(conditions, " && ")
}

func span(least, most *int64) string {
	switch {
	case most == nil:
		return fmt.Sprintf("at least %d", *least)
	case least == nil || *least == 0:
		return fmt.Sprintf("at most %d", *most)
	}
	return fmt.Sprintf("%d to %d", *least, *most)
}

func or(value *int64, fallback int64) int64 {
	if value == nil {
		return fallback
	}
	return *value
}

// quote writes a text as CEL does, which Go does in the same way except for the quotes.
func quote(text string) string {
	inner := strconv.Quote(text)
	return "'" + strings.ReplaceAll(strings.ReplaceAll(inner[1:len(inner)-1], `\"`, `"`), "'", `\'`) + "'"
}

// names are those of an object's fields, in order.
func names(s *apiextensionsv1.JSONSchemaProps) []string {
	return slices.Sorted(maps.Keys(s.Properties))
}
