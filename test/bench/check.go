// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/api/networking/v1alpha1"
	rules "github.com/fairlead-dev/fairlead/internal/rules/externalservice"
)

// checkConversion checks that both sides return the same object, and that Fairlead's converts back without loss. The
// note says what the stock handler loses.
func (b *builder) checkConversion(c *Case, source *unstructured.Unstructured) (string, error) {
	ours, theirs, err := c.converted()
	if err != nil {
		return "", err
	}
	if err := alike(ours, theirs); err != nil {
		return "", err
	}
	back, err := ask(b.ours.convert, encode(ours.Object), source.GetAPIVersion())
	if err != nil {
		return "", fmt.Errorf("and back: %w", err)
	}
	stockBack, err := ask(b.stock.convert, encode(theirs.Object), source.GetAPIVersion())
	if err != nil {
		return "", fmt.Errorf("and back by stock: %w", err)
	}
	return losses(source, back, stockBack)
}

// losses counts the fields of an object that are missing after a conversion and back.
func losses(source, back, stockBack *unstructured.Unstructured) (string, error) {
	all := values(source)
	if lost := missing(all, values(back)); len(lost) > 0 {
		return "", fmt.Errorf("fairlead lost %q on the way there and back", lost)
	}
	lost := missing(all, values(stockBack))
	if len(lost) == 0 {
		return "both keep all " + strconv.Itoa(len(all)) + " values there and back", nil
	}
	return fmt.Sprintf("there and back, stock loses %d of %d values, fairlead none", len(lost), len(all)), nil
}

// converted returns the conversions of both sides.
func (c *Case) converted() (ours, theirs *unstructured.Unstructured, err error) {
	if ours, err = c.ours.converted(); err != nil {
		return nil, nil, fmt.Errorf("fairlead: %w", err)
	}
	if theirs, err = c.stock.converted(); err != nil {
		return nil, nil, fmt.Errorf("stock: %w", err)
	}
	return ours, theirs, nil
}

func alike(ours, theirs *unstructured.Unstructured) error {
	compare := same[v1.ExternalService]
	if ours.GetAPIVersion() == v1alpha1.GroupVersion.String() {
		compare = same[v1alpha1.ExternalService]
	}
	return compare(ours, theirs)
}

// same compares two objects as T, in which an empty list equals an absent one.
func same[T any](ours, theirs *unstructured.Unstructured) error {
	mine, err := typed[T](ours)
	if err != nil {
		return err
	}
	other, err := typed[T](theirs)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(other, mine); diff != "" {
		return fmt.Errorf("the answers differ (-stock +fairlead):\n%s", diff)
	}
	return nil
}

// ask returns one object as a handler converts it.
func ask(h http.Handler, object []byte, desired string) (*unstructured.Unstructured, error) {
	return newCall(h, conversionReview(object, desired)).converted()
}

func (c *call) converted() (*unstructured.Unstructured, error) {
	body, err := c.ask()
	if err != nil {
		return nil, err
	}
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	response := review.Response
	if response == nil || response.UID != reviewUID || response.Result.Status != "Success" || len(response.ConvertedObjects) != 1 {
		return nil, fmt.Errorf("not converted: %.500s", body)
	}
	obj := &unstructured.Unstructured{}
	return obj, obj.UnmarshalJSON(response.ConvertedObjects[0].Raw)
}

// checkMutation checks that both patches set the defaults that the rules set.
func (c *Case) checkMutation(obj *unstructured.Unstructured) (string, error) {
	wanted, err := defaulted(obj)
	if err != nil {
		return "", err
	}
	sizes := make([]int, 0, 2)
	for _, side := range []*call{c.ours, c.stock} {
		patched, operations, err := side.patched(encode(obj.Object))
		if err != nil {
			return "", err
		}
		if err := same[v1.ExternalService](patched, wanted); err != nil {
			return "", fmt.Errorf("a patch does not set the defaults: %w", err)
		}
		sizes = append(sizes, operations)
	}
	return fmt.Sprintf("operations in the patch: fairlead %d, stock %d", sizes[0], sizes[1]), nil
}

// patched sends the object, and applies the patch of the response.
func (c *call) patched(object []byte) (obj *unstructured.Unstructured, operations int, err error) {
	response, err := c.admitted()
	if err != nil {
		return nil, 0, err
	}
	if !response.Allowed {
		return nil, 0, fmt.Errorf("refused: %+v", response.Result)
	}
	if len(response.Patch) > 0 {
		patch, err := jsonpatch.DecodePatch(response.Patch)
		if err != nil {
			return nil, 0, err
		}
		operations = len(patch)
		if object, err = patch.Apply(object); err != nil {
			return nil, 0, err
		}
	}
	obj = &unstructured.Unstructured{}
	return obj, operations, obj.UnmarshalJSON(object)
}

// checkValidation checks that both sides allow the object with the same warnings. It also checks that both refuse a
// broken copy, for the same fields.
func (b *builder) checkValidation(c *Case, obj, old *unstructured.Unstructured) (string, error) {
	broken := obj.DeepCopy()
	if err := unstructured.SetNestedSlice(broken.Object, []any{map[string]any{"name": "a"}}, "spec", "endpoints"); err != nil {
		return "", err
	}
	unwanted, err := refusalOf(broken, old)
	if err != nil {
		return "", err
	}
	causes := make([][]string, 0, 2)
	warnings := make([][]string, 0, 2)
	for _, s := range []struct {
		call    *call
		handler http.Handler
	}{{c.ours, b.ours.validate}, {c.stock, b.stock.validate}} {
		response, err := s.call.admitted()
		if err != nil {
			return "", err
		}
		if !response.Allowed {
			return "", fmt.Errorf("refused: %+v", response.Result)
		}
		warnings = append(warnings, response.Warnings)
		if response, err = newCall(s.handler, admissionReview(broken, old)).admitted(); err != nil {
			return "", err
		}
		if response.Allowed || response.Result == nil || response.Result.Details == nil {
			return "", fmt.Errorf("a broken object was not refused: %+v", response)
		}
		var told []string
		for _, cause := range response.Result.Details.Causes {
			told = append(told, cause.Field)
		}
		causes = append(causes, told)
	}
	if diff := cmp.Diff([][]string{unwanted, unwanted}, causes); diff != "" {
		return "", fmt.Errorf("a broken object is refused for the wrong fields (-rules +handlers):\n%s", diff)
	}
	if diff := cmp.Diff(warnings[1], warnings[0]); diff != "" {
		return "", fmt.Errorf("the warnings differ (-stock +fairlead):\n%s", diff)
	}
	return "both refuse the same object, broken, for the same fields", nil
}

// refusalOf returns the fields that are invalid by the rules.
func refusalOf(obj, old *unstructured.Unstructured) ([]string, error) {
	now, err := typed[v1.ExternalService](obj)
	if err != nil {
		return nil, err
	}
	var before *v1.ExternalService
	if old != nil {
		if before, err = typed[v1.ExternalService](old); err != nil {
			return nil, err
		}
	}
	var fields []string
	for _, err := range rules.Validate(now, before) {
		fields = append(fields, err.Field)
	}
	if len(fields) == 0 {
		return nil, errors.New("the rules find nothing wrong with an object that was broken on purpose")
	}
	return fields, nil
}

func (c *call) admitted() (*admissionv1.AdmissionResponse, error) {
	body, err := c.ask()
	if err != nil {
		return nil, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("the answer is no JSON: %w", err)
	}
	if review.Response == nil || review.Response.UID != reviewUID {
		return nil, fmt.Errorf("not answered: %.500s", body)
	}
	return review.Response, nil
}
