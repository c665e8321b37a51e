// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/cmd/fairlead/options"
	"github.com/fairlead-dev/fairlead/config/crd"
	"github.com/fairlead-dev/fairlead/internal/egress"
	"github.com/fairlead-dev/fairlead/webhooks/admission/warnings"
	"github.com/fairlead-dev/fairlead/webhooks/conversion"
	"github.com/fairlead-dev/fairlead/webhooks/server"
)

const (
	hub   = "v1"
	spoke = "v1alpha1"
)

// Bounds of what a review may cost: allocated bytes for each byte of its weight, and time of a processor for
// each byte of its body. What every review costs comes in addition.
const (
	mostAllocated = 16.0
	mostTime      = 8 * time.Microsecond
	everyReview   = 256 << 10
	everyTime     = 30 * time.Millisecond
)

// costly searches for reviews that cost much for their size: bodies of every kind and version, in which each
// field of the schema in its turn, or one that the schema does not have, takes nearly all of the size.
type costly struct {
	size  int
	field int // of the schemas, so far
	by    map[string]http.Handler
}

// allowing lets everybody have everything.
type allowing struct{}

func (allowing) Synced() bool                                         { return true }
func (allowing) CheckPorts(egress.Query, []uint16) (v egress.Verdict) { return v }
func (allowing) Allowed(context.Context, authenticationv1.UserInfo, authorizationv1.ResourceAttributes) (bool, error) {
	return true, nil
}

func (allowing) Service(_ context.Context, _, name string) (*corev1.Service, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("services"), name)
}

// allowingAll authorizes all writers.
func allowingAll() reviews {
	return reviews{policy: allowing{}, reviewer: allowing{}, services: allowing{}, warnings: warnings.NewReader(warnings.Options{})}
}

func newCostly(t *testing.T, size int) costly {
	t.Helper()
	by := (&assembly{kinds: allKinds(), config: options.Default()}).handlers(allowingAll(), func(conversion.Failure) {})
	begins := rand.IntN(stride) // so that each field is tried now and then
	t.Logf("of every %d fields, number %d is tried", stride, begins)
	return costly{size: size, field: begins, by: by}
}

var groups = map[string]string{"ExternalService": "networking", "RebootPolicy": "autoreboot", "ChaosPod": "chaos"}

// plural of a kind, as the API server spells it.
func plural(kind string) string {
	lower := strings.ToLower(kind)
	if stem, y := strings.CutSuffix(lower, "y"); y {
		return stem + "ies"
	}
	return lower + "s"
}

// tried is one review.
type tried struct {
	name, path string
	body       []byte
}

// all are the reviews of the search.
func (c *costly) all(t *testing.T, yield func(tried)) {
	t.Helper()
	for _, kind := range slices.Sorted(maps.Keys(groups)) {
		raw, err := crd.Definition(groups[kind]+".fairlead.dev", plural(kind))
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(raw, &definition); err != nil {
			t.Fatal(err)
		}
		for _, version := range definition.Spec.Versions {
			c.objects(kind, version.Name, version.Schema.OpenAPIV3Schema, func(name string, object []byte) {
				group := groups[kind] + ".fairlead.dev"
				name = kind + " " + version.Name + " " + name
				other := map[string]string{hub: spoke, spoke: hub}[version.Name]
				yield(tried{name, conversion.Path, conversionBody(group+"/"+other, object)})
				if version.Name == hub {
					for _, hook := range []string{"mutate", "validate"} {
						path := "/" + hook + "-" + groups[kind] + "-fairlead-dev-v1-" + strings.ToLower(kind)
						yield(tried{name, path, admissionBody(group, kind, "CREATE", object, []byte("null"), hub)})
						yield(tried{name + ", from itself, by an old version", path, admissionBody(group, kind, "UPDATE", object, object, spoke)})
					}
				}
			})
		}
	}
}

func conversionBody(desired string, object []byte) []byte {
	return fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":%q,"objects":[%s]}}`, desired, object)
}

func admissionBody(group, kind, operation string, object, old []byte, written string) []byte {
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":%q,"name":"a","namespace":"b",`+
		`"kind":{"group":%[2]q,"version":"v1","kind":%[3]q},"requestKind":{"group":%[2]q,"version":%[4]q,"kind":%[3]q},`+
		`"resource":{"group":%[2]q,"version":"v1","resource":"x"},"userInfo":{"username":"ann"},"object":%[5]s,"oldObject":%[6]s}}`,
		operation, group, kind, written, object, old)
}

// objects are those of a version.
func (c *costly) objects(kind, version string, schema *apiextensionsv1.JSONSchemaProps, yield func(name string, object []byte)) {
	render := func(body map[string]string, metadata string) []byte {
		out := fmt.Appendf(nil, `{"apiVersion":"%s.fairlead.dev/%s","kind":%q,"metadata":{"name":"a","namespace":"b"%s}`, groups[kind], version, kind, metadata)
		for _, part := range slices.Sorted(maps.Keys(body)) {
			out = fmt.Appendf(out, `,%q:%s`, part, body[part])
		}
		return append(out, '}')
	}
	spec, status := schema.Properties["spec"], schema.Properties["status"]
	plain := least(&spec, 0)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		value := shapes[name](c.size)
		yield("unknown part with "+name, render(map[string]string{"spec": plain, "x": value}, ""))
		yield("unknown field with "+name, render(map[string]string{"spec": with(plain, "x", value)}, ""))
		yield("spec of "+name, render(map[string]string{"spec": value}, ""))
		yield("status of "+name, render(map[string]string{"spec": plain, "status": value}, ""))
		yield("annotations of "+name, render(map[string]string{"spec": plain}, `,"annotations":`+value))
		yield("managed fields of "+name, render(map[string]string{"spec": plain}, `,"managedFields":[{"fieldsV1":`+value+`}]`))
	}
	for _, part := range []string{"spec", "status"} {
		of := map[string]*apiextensionsv1.JSONSchemaProps{"spec": &spec, "status": &status}[part]
		fill(of, part, c.size, func(name, value string) {
			if c.field++; c.field%stride != 0 {
				return
			}
			body := map[string]string{"spec": plain, part: value}
			yield(name, render(body, ""))
		})
	}
}

// shapes are values that know no schema, of about a size.
var shapes = map[string]func(size int) string{
	"many members": func(size int) string {
		return "{" + repeat(size, func(i int) string { return fmt.Sprintf(`"%x":1`, i) }) + "}"
	},
	"many empty texts": func(size int) string {
		return "{" + repeat(size, func(i int) string { return fmt.Sprintf(`"k%x":""`, i) }) + "}"
	},
	"one name many times": func(size int) string { return "{" + repeat(size, func(int) string { return `"a":1` }) + "}" },
	"many numbers":        func(size int) string { return "[" + repeat(size, func(int) string { return "1" }) + "]" },
	"many long numbers":   func(size int) string { return "[" + repeat(size, func(int) string { return "1.5e-300" }) + "]" },
	"many empty objects":  func(size int) string { return "[" + repeat(size, func(int) string { return "{}" }) + "]" },
	"many small objects":  func(size int) string { return "[" + repeat(size, func(int) string { return `{"a":1}` }) + "]" },
	"many nulls":          func(size int) string { return "[" + repeat(size, func(int) string { return "null" }) + "]" },
	"many named items": func(size int) string {
		return "[" + repeat(size, func(i int) string { return fmt.Sprintf(`{"name":"%x"}`, i) }) + "]"
	},
	"deep lists":   func(int) string { return strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) },
	"deep objects": func(int) string { return strings.Repeat(`{"a":`, 9_000) + "1" + strings.Repeat("}", 9_000) },
	"escapes":      func(size int) string { return `"` + strings.Repeat(`\u003c`, size/6) + `"` },
	"quotes":       func(size int) string { return `"` + strings.Repeat(`\"`, size/2) + `"` },
	"a long text":  func(size int) string { return `"` + strings.Repeat("a", size) + `"` },
}

func repeat(size int, item func(i int) string) string {
	var out strings.Builder
	for i := 0; out.Len() < size; i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(item(i))
	}
	return out.String()
}

// dear are values of text fields that are expensive to parse.
var dear = []string{
	"a", "0 0 30 2 *", "0 0 29 2 1", "CRON_TZ=America/New_York 30 2 29 2 *", "999999h59m59s", "2001:db8::1/33",
	"((a{1,100}){1,100}){1,9}", "America/New_York",
	strings.Repeat("a.", 120) + "b", strings.Repeat("é", 200),
}

// least is a small value of a schema.
func least(s *apiextensionsv1.JSONSchemaProps, depth int) string {
	switch {
	case s == nil || depth > 12:
		return "null"
	case len(s.Enum) > 0:
		return string(s.Enum[0].Raw)
	}
	switch s.Type {
	case "object":
		out := "{}"
		for _, name := range s.Required {
			below := s.Properties[name]
			out = with(out, name, least(&below, depth+1))
		}
		return out
	case "array":
		if s.MinItems == nil || *s.MinItems == 0 {
			return "[]"
		}
		return "[" + least(s.Items.Schema, depth+1) + "]"
	case "integer", "number":
		return "1"
	case "boolean":
		return "true"
	}
	return `"a"`
}

// with adds a member to an object.
func with(object, name, value string) string {
	object = strings.TrimSuffix(object, "}")
	if object != "{" {
		object += ","
	}
	return object + fmt.Sprintf("%q:%s}", name, value)
}

// stride is which fields are tried, others in each run: to try all takes minutes.
const stride = 37

// deepest is how many fields deep the search goes.
const deepest = 3

// fill yields a value for each list, map and text below a schema, in which that one is as large as may be.
func fill(s *apiextensionsv1.JSONSchemaProps, at string, size int, yield func(name, value string)) {
	if strings.Count(at, ".") > deepest {
		return // the fields of a pod are as far as that alike
	}
	switch s.Type {
	case "object":
		if more := s.AdditionalProperties; more != nil && more.Schema != nil {
			yield(at+" with many keys", "{"+repeat(size, func(i int) string { return fmt.Sprintf(`"k%x":%s`, i, least(more.Schema, 0)) })+"}")
		}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			below, rest := s.Properties[name], "{}"
			for _, other := range s.Required {
				if other != name {
					next := s.Properties[other]
					rest = with(rest, other, least(&next, 0))
				}
			}
			fill(&below, at+"."+name, size, func(path, value string) { yield(path, with(rest, name, value)) })
		}
	case "array":
		for _, item := range items(s.Items.Schema) {
			yield(at+" with many items "+item(0), "["+repeat(size, item)+"]")
		}
		fill(s.Items.Schema, at+"[0]", size, func(path, value string) { yield(path, "["+value+"]") })
	case "string":
		yield(at+" with a long text", `"`+strings.Repeat("a", size)+`"`)
		yield(at+" with a long list", `"`+strings.Repeat("1,", size/2)+`1"`)
		yield(at+" with brackets", `"`+strings.Repeat("((a{1,9}", size/8)+`"`)
	}
}

// items are those that a list may have: each of its texts may be a dear one.
func items(s *apiextensionsv1.JSONSchemaProps) (all []func(i int) string) {
	if s.Type == "string" {
		for _, text := range dear {
			all = append(all, func(int) string { return fmt.Sprintf("%q", text) })
		}
		return all
	}
	all = append(all, func(i int) string { return unique(least(s, 0), s, i) })
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below := s.Properties[name]
		if below.Type == "object" {
			for _, inner := range slices.Sorted(maps.Keys(below.Properties)) {
				if within := below.Properties[inner]; within.Type == "string" {
					for _, text := range dear {
						all = append(all, func(i int) string {
							return unique(with(least(s, 0), name, with("{}", inner, fmt.Sprintf("%q", text))), s, i)
						})
					}
				}
			}
		}
		if below.Type == "string" && name != "name" {
			for _, text := range dear {
				all = append(all, func(i int) string { return unique(with(least(s, 0), name, fmt.Sprintf("%q", text)), s, i) })
			}
		}
	}
	return all
}

// unique gives an object a name of its own, if it has one.
func unique(object string, s *apiextensionsv1.JSONSchemaProps, i int) string {
	if _, named := s.Properties["name"]; !named || !strings.HasPrefix(object, "{") {
		return object
	}
	object = strings.Replace(object, `"name":"a"`, "", 1)
	object = strings.ReplaceAll(strings.ReplaceAll(object, "{,", "{"), ",}", "}")
	object = strings.ReplaceAll(object, ",,", ",")
	return with(object, "name", fmt.Sprintf(`"n%x"`, i))
}

// spent is the cost of a review.
type spent struct {
	allocated uint64
	processor time.Duration
	code      int
}

func (c costly) send(r tried) spent {
	request := httptest.NewRequest(http.MethodPost, r.path+"?timeout=30s", bytes.NewReader(r.body))
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	var from, to syscall.Rusage
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &from)
	c.by[r.path].ServeHTTP(answer, request)
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &to)
	metrics.Read(sample)
	return spent{sample[0].Value.Uint64() - before, time.Duration(to.Utime.Nano() - from.Utime.Nano()), answer.Code}
}

// A review is let in by its weight. So nothing that a search finds may cost more than that says.
func TestNoReviewCostsMoreThanItsWeight(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // what the collector does is not the review's
	c := newCostly(t, 16<<10)
	type found struct {
		tried
		spent
		ratio, perByte float64
	}
	var all []found
	c.all(t, func(r tried) {
		if len(all)%50 == 0 {
			runtime.GC()
		}
		cost, limit := c.send(r), everyTime+time.Duration(len(r.body))*mostTime
		for n := 0; n < 4 && cost.processor > limit; n++ { // one that costs much does so every time
			cost.processor = min(cost.processor, c.send(r).processor)
		}
		f := found{tried: r, spent: cost}
		f.ratio = float64(cost.allocated) / float64(server.Cost(r.body)+everyReview)
		f.perByte = float64(cost.processor) / float64(len(r.body))
		if f.ratio > mostAllocated {
			t.Errorf("%s to %s: %d bytes, which count for %d, cost %d", r.name, r.path, len(r.body), server.Cost(r.body), cost.allocated)
		}
		if cost.processor > limit {
			t.Errorf("%s to %s: %d bytes took %s", r.name, r.path, len(r.body), cost.processor)
		}
		f.body = f.body[:min(len(f.body), 100)]
		all = append(all, f)
	})
	for title, by := range map[string]func(f found) float64{
		"bytes by weight":    func(f found) float64 { return f.ratio },
		"nanoseconds a byte": func(f found) float64 { return f.perByte },
	} {
		slices.SortFunc(all, func(a, b found) int { return cmp.Compare(by(b), by(a)) })
		for _, f := range all[:12] {
			t.Logf("%s: %.2f: %s to %s (%d): %d bytes, %s", title, by(f), f.name, f.path, f.code, f.allocated, f.processor)
		}
	}
	t.Logf("%d reviews", len(all))
	if len(all) < 500 {
		t.Errorf("the search tried %d reviews only", len(all))
	}
}
