// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// A field is declared in one place: its tag `json` is its name, `default` is its default, and `rule` is what its value
// must be:
//
//	1..1000, 1s..1h, 0s..      a number or a duration within these bounds, which are included
//	positive                   a duration above 0
//	Watch|Poll                 one of these words
//	label, subdomain, address  a DNS label, a DNS subdomain, host:port or "0"
//
// A rule that ends in ",optional" allows a string to be empty. That of a map is the rule of each value.

// Field is a field of the configuration, with what its tags say.
type Field struct {
	// Path of the field, such as webhook.drainDelay.
	Path string
	// Default is its default as text; empty where it has none.
	Default string
	// Rule is the rule for its value. It is empty if there is none.
	Rule string
}

// Fields returns the fields of the configuration in the order of their declaration, without those of lists.
func Fields() []Field { return fieldsOf(reflect.TypeFor[Configuration](), "") }

func fieldsOf(of reflect.Type, path string) []Field {
	var all []Field
	for declared := range of.Fields() {
		name, _, _ := strings.Cut(declared.Tag.Get("json"), ",")
		switch {
		case name == "": // apiVersion and kind
		case declared.Type.Kind() == reflect.Struct && declared.Type != reflect.TypeFor[metav1.Duration]():
			all = append(all, fieldsOf(declared.Type, path+name+".")...)
		default:
			rule, _, _ := strings.Cut(declared.Tag.Get("rule"), ",")
			all = append(all, Field{Path: path + name, Default: declared.Tag.Get("default"), Rule: rule})
		}
	}
	return all
}

// setDefaults sets the fields of a struct, and of those inside it, to their defaults.
func setDefaults(of reflect.Value) {
	for i := range of.NumField() {
		declared, value := of.Type().Field(i), of.Field(i)
		text, ok := declared.Tag.Lookup("default")
		switch {
		case ok:
			decode := func(asJSON []byte) error { return json.Unmarshal(asJSON, value.Addr().Interface()) }
			asJSON, err := textToJSON(text, decode)
			if err = errors.Join(err, decode(asJSON)); err != nil {
				// Reached by every test of this package.
				panic(fmt.Sprintf("default of %s: %v", declared.Name, err)) //nolint:forbidigo // a mistake in a tag, see above
			}
		case value.Kind() == reflect.Struct:
			setDefaults(value)
		}
	}
}

// textToJSON returns the JSON of a value that was written as text: the first that decode takes of a string, a value in
// YAML, and a list of strings that commas separate. Where it takes none it is the string.
func textToJSON(text string, decode func(asJSON []byte) error) ([]byte, error) {
	list := []string{}
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	quoted, err := json.Marshal(text)
	listed, listErr := json.Marshal(list)
	if err = errors.Join(err, listErr); err != nil {
		return nil, err
	}
	for _, attempt := range [][]byte{quoted, []byte(text), listed} {
		asJSON, err := yaml.YAMLToJSONStrict(attempt) // JSON is YAML
		if err != nil || string(asJSON) == "null" {   // which would decode, and change nothing
			continue
		}
		if wrong := (*json.UnmarshalTypeError)(nil); !errors.As(decode(asJSON), &wrong) {
			return asJSON, nil
		}
	}
	return quoted, nil
}

// checkRules checks the fields of a struct by their rules, but not those of structs inside it.
func checkRules(path *field.Path, of any) field.ErrorList {
	var errs field.ErrorList
	value := reflect.ValueOf(of)
	for i := range value.NumField() {
		declared := value.Type().Field(i)
		rule, optional := strings.CutSuffix(declared.Tag.Get("rule"), ",optional")
		if rule == "" || optional && value.Field(i).IsZero() {
			continue
		}
		name, _, _ := strings.Cut(declared.Tag.Get("json"), ",")
		errs = append(errs, checkRule(path.Child(name), value.Field(i).Interface(), rule)...)
	}
	return errs
}

func checkRule(path *field.Path, value any, rule string) field.ErrorList {
	if of := reflect.ValueOf(value); of.Kind() == reflect.Map {
		var errs field.ErrorList
		for _, key := range of.MapKeys() {
			errs = append(errs, checkRule(path.Key(key.String()), of.MapIndex(key).Interface(), rule)...)
		}
		return errs
	}
	if least, most, ranges := strings.Cut(rule, ".."); ranges {
		return within(path, value, least, most)
	}
	if words := strings.Split(rule, "|"); len(words) > 1 {
		if text := fmt.Sprint(value); !slices.Contains(words, text) {
			return field.ErrorList{field.NotSupported(path, text, words)}
		}
		return nil
	}
	switch rule {
	case "positive":
		if d, ok := value.(metav1.Duration); !ok || d.Duration <= 0 {
			return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be greater than 0")}
		}
		return nil
	case "label":
		return label(path, fmt.Sprint(value))
	case "subdomain":
		return subdomain(path, fmt.Sprint(value))
	case "address":
		return address(path, fmt.Sprint(value))
	default:
		return field.ErrorList{field.InternalError(path, fmt.Errorf("no rule is called %q", rule))}
	}
}

// within checks the bounds of a number or a duration. Without an upper one, most is empty.
func within(path *field.Path, value any, least, most string) field.ErrorList {
	n := reflect.ValueOf(value)
	if d, ok := value.(metav1.Duration); ok {
		n, value = reflect.ValueOf(d.Duration), d.Duration.String()
	}
	lowest, err := bound(least)
	highest, message := int64(math.MaxInt64), "must be at least "+least
	if most != "" && err == nil {
		highest, err = bound(most)
		message = "must be from " + least + " to " + most
	}
	switch {
	case err != nil: // a mistake in a tag
		return field.ErrorList{field.InternalError(path, err)}
	case n.Int() < lowest, n.Int() > highest:
		return field.ErrorList{field.Invalid(path, value, message)}
	}
	return nil
}

// bound returns a number, or the nanoseconds of a duration.
func bound(text string) (int64, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return int64(d), nil
	}
	return strconv.ParseInt(text, 10, 64)
}

func label(path *field.Path, name string) field.ErrorList {
	return invalid(path, name, validation.IsDNS1123Label(name))
}

func subdomain(path *field.Path, name string) field.ErrorList {
	return invalid(path, name, validation.IsDNS1123Subdomain(name))
}

func invalid(path *field.Path, value string, problems []string) (errs field.ErrorList) {
	for _, problem := range problems {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
}

func address(path *field.Path, at string) field.ErrorList {
	if at == Off {
		return nil
	}
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		return field.ErrorList{field.Invalid(path, at, "must be host:port, :port, or 0 for off")}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return field.ErrorList{field.Invalid(path, at, "the port must be from 0 to 65535")}
	}
	return nil
}
