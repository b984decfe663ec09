// Written from the OpenAPI document of @calotype/core by `vitest run packages/client/src/openapi-types.test.ts -u`.

export interface paths {
    "/v1/images/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make images from text, or from text and reference images
         * @description The body depends on the family of the model.
         */
        post: operations["createImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/edits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Edit images
         * @description Models of the family `qwen-image` are served here only if the operator turned it on.
         */
        post: operations["editImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/generations/estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What a request for images would be charged at most
         * @description Nothing is sent, held or counted.
         */
        post: operations["estimateImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/edits/estimate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What an edit would be charged at most
         * @description Nothing is sent, held or counted. The images are not loaded, so any links count as well.
         */
        post: operations["estimateEdit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v3/images/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make images with Ark's own request and response
         * @description For clients of Volcengine Ark. Fields are forwarded as they are, and the response is the provider's own.
         */
        post: operations["createNativeImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/services/aigc/multimodal-generation/generation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make images with DashScope's own request and response
         * @description For clients of Alibaba Cloud Model Studio. The response is the provider's own.
         */
        post: operations["createDashScopeImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the models that the key may use
         * @description Each model with what it can do, and its price if the server shows it.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Describe a model
         * @description What the model can do, and its price if the server shows it.
         */
        get: operations["retrieveModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the caller's tasks, the newest first
         * @description A task is submitted with `Prefer: respond-async` on an image request.
         */
        get: operations["listTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a task, or wait for its end
         * @description The result is in the task when it is completed. With `wait` or `Prefer: wait` the response comes at the end of the task, or when the time is over.
         */
        get: operations["retrieveTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/tasks/{task_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a task as events
         * @description An event for each change of the status and for each image.
         */
        get: operations["followTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/tasks/{task_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a task that was not sent yet
         * @description Nothing is charged then. A task that was sent to the provider can no longer be cancelled.
         */
        post: operations["cancelTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/files/{file_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a stored image
         * @description The link of an image is its permission. It needs no key.
         */
        get: operations["readFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Whether the parts of the server work
         * @description For load balancers and monitoring.
         */
        get: operations["readHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * This document
         * @description For tools that make clients, and for pages that show it.
         */
        get: operations["readDescription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make images with a chat completion
         * @description The last message of the user has the prompt and the images. Further fields are those of `/v1/images/generations`. Only if the operator turned it on.
         */
        post: operations["createChatCompletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1beta/models/{model}:generateContent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make images with Google's request and response
         * @description Below `/v1` too. The last content of the user has the prompt and the images. Only if the operator turned it on.
         */
        post: operations["generateContent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1beta/models/{model}:streamGenerateContent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * As generateContent, with an event for each image
         * @description Only if the operator turned it on.
         */
        post: operations["streamGenerateContent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/services/aigc/image-generation/generation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a task with DashScope's request
         * @description `multimodal-generation/generation` takes tasks too, with the same header. Only if the operator turned it on.
         */
        post: operations["createDashScopeTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/services/aigc/text2image/image-synthesis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a task as DashScope's older SDKs do
         * @description Only if the operator turned it on.
         */
        post: operations["createTextToImageTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/services/aigc/image2image/image-synthesis": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit an edit as DashScope's older SDKs do
         * @description Only if the operator turned it on.
         */
        post: operations["createImageToImageTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a task in DashScope's shape
         * @description Only if the operator turned it on.
         */
        get: operations["readDashScopeTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a task that was not sent yet
         * @description Only if the operator turned it on.
         */
        post: operations["cancelDashScopeTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description A request to a model of the family `seedream` (family A). */
        SeedreamRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description The format of the images, such as `png`, `jpeg` or `webp`. */
            output_format?: string | null;
            /** @description `transparent`, `opaque` or `auto`, if the model knows the field. */
            background?: string | null;
            /** @description Whether the provider adds its watermark. */
            watermark?: boolean | null;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description The seed, if the model knows the field. */
            seed?: number | null;
            /** @description How closely the image follows the prompt, if the model knows the field. */
            guidance_scale?: number | null;
            /**
             * @description `auto`: several images that belong together. `n` above 1 sets it.
             * @enum {string|null}
             */
            sequential_image_generation?: "auto" | "disabled" | null;
            /** @description How many images at most, in `max_images`. */
            sequential_image_generation_options?: ({
                /** @description The largest number of images of the batch. */
                max_images?: number;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description Whether the image is returned as layers. */
            layer_decomposition?: boolean | null;
            /** @description How the provider rewrites the prompt, such as `{"mode": "fast"}`. */
            optimize_prompt_options?: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        /** @description As `SeedreamRequest`, for an image in layers. The prompt may be absent. */
        SeedreamLayersRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt?: string | null;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description The format of the images, such as `png`, `jpeg` or `webp`. */
            output_format?: string | null;
            /** @description `transparent`, `opaque` or `auto`, if the model knows the field. */
            background?: string | null;
            /** @description Whether the provider adds its watermark. */
            watermark?: boolean | null;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description The seed, if the model knows the field. */
            seed?: number | null;
            /** @description How closely the image follows the prompt, if the model knows the field. */
            guidance_scale?: number | null;
            /**
             * @description `auto`: several images that belong together. `n` above 1 sets it.
             * @enum {string|null}
             */
            sequential_image_generation?: "auto" | "disabled" | null;
            /** @description How many images at most, in `max_images`. */
            sequential_image_generation_options?: ({
                /** @description The largest number of images of the batch. */
                max_images?: number;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /**
             * @description Whether the image is returned as layers.
             * @constant
             */
            layer_decomposition: true;
            /** @description How the provider rewrites the prompt, such as `{"mode": "fast"}`. */
            optimize_prompt_options?: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        /** @description A request to a model of the family `qwen-image` (family B), in the provider's structure. `prompt` is a placeholder. */
        QwenImageRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The content. */
            input: {
                /** @description One message. */
                messages: ({
                    /**
                     * @description Always `user`.
                     * @constant
                     */
                    role: "user";
                    /** @description One item with `text`, and up to three items with `image`. */
                    content: ({
                        /** @description The prompt or the instruction. */
                        text?: string;
                        /**
                         * @description A public link (`https:`, `http:`), or a data URL with base64.
                         * For example: https://example.com/cat.png
                         */
                        image?: string;
                    } & {
                        [key: string]: unknown;
                    })[];
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            };
            /** @description The size, the number of images and other parameters. All of them are forwarded. */
            parameters?: ({
                /**
                 * @description `<width>*<height>`, with an asterisk.
                 * For example: 1328*1328
                 */
                size?: string;
                /** @description The number of images. Absent: one. */
                n?: number;
                /** @description Whether the provider adds its watermark. */
                watermark?: boolean;
                /** @description Whether the provider rewrites the prompt. */
                prompt_extend?: boolean;
                /** @description What the image must not show. */
                negative_prompt?: string;
                /** @description Whether the images belong together (Wan). */
                enable_sequential?: boolean;
                /** @description Whether the model plans the image first (Wan). */
                thinking_mode?: boolean;
            } & {
                [key: string]: unknown;
            }) | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
        } & {
            [key: string]: unknown;
        };
        /** @description A request to a model of the family `qwen-image` (family B), as OpenAI's clients send it. */
        QwenImageShorthandRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /** @description Whether the provider adds its watermark. */
            watermark?: boolean | null;
            /** @description Whether the provider rewrites the prompt. */
            prompt_extend?: boolean | null;
            /** @description What the image must not show. */
            negative_prompt?: string | null;
            /** @description Whether the images belong together (Wan). */
            enable_sequential?: boolean | null;
            /** @description Whether the model plans the image first (Wan). */
            thinking_mode?: boolean | null;
            /** @description The size, the number of images and other parameters. All of them are forwarded. */
            parameters?: ({
                /**
                 * @description `<width>*<height>`, with an asterisk.
                 * For example: 1328*1328
                 */
                size?: string;
                /** @description The number of images. Absent: one. */
                n?: number;
                /** @description Whether the provider adds its watermark. */
                watermark?: boolean;
                /** @description Whether the provider rewrites the prompt. */
                prompt_extend?: boolean;
                /** @description What the image must not show. */
                negative_prompt?: string;
                /** @description Whether the images belong together (Wan). */
                enable_sequential?: boolean;
                /** @description Whether the model plans the image first (Wan). */
                thinking_mode?: boolean;
            } & {
                [key: string]: unknown;
            }) | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description The shorthand has no `input`. */
            input?: null;
        } & {
            [key: string]: unknown;
        };
        /** @description A request to a model of the family `openai`. */
        OpenAIRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /** @description The quality, if the model knows the field. */
            quality?: string | null;
            /** @description `transparent`, `opaque` or `auto`, if the model knows the field. */
            background?: string | null;
            /** @description The format of the images, such as `png`, `jpeg` or `webp`. */
            output_format?: string | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description The number of unfinished images that are sent before each image. */
            partial_images?: number | null;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /**
             * @description The area to change: a link or a data URL.
             * For example: https://example.com/cat.png
             */
            mask?: string | null;
            /**
             * @description Marks that show the change: a link or a data URL.
             * For example: https://example.com/cat.png
             */
            markup?: string | null;
        } & {
            [key: string]: unknown;
        };
        /** @description A request to a model of the family `gemini`. */
        GeminiRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /** @description The aspect ratio, such as `16:9`, in place of `size`. */
            aspect_ratio?: unknown;
            /** @description The size tier, such as `2K`, in place of `size`. */
            resolution?: unknown;
            /** @description The seed, if the model knows the field. */
            seed?: number | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description Gemini's own settings, without those that `n` and `size` set. */
            generationConfig?: {
                [key: string]: unknown;
            } | null;
            /** @description Gemini's own settings. */
            safetySettings?: unknown[] | null;
            /** @description Gemini's own instruction. */
            systemInstruction?: {
                [key: string]: unknown;
            } | null;
        } & {
            [key: string]: unknown;
        };
        /** @description A request in Ark's structure. Ark checks what is not listed here. */
        NativeSeedreamRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description A reference image, or a list of them, in any form that Ark takes. */
            image?: unknown;
            /** @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers. */
            response_format?: unknown;
            /** @description `auto`: several images that belong together. `n` above 1 sets it. */
            sequential_image_generation?: ("auto" | "disabled") | null;
            /** @description How many images at most, in `max_images`. */
            sequential_image_generation_options?: ({
                /** @description The largest number of images of the batch. */
                max_images?: number | null;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description Whether the image is returned as layers. */
            layer_decomposition?: boolean | null;
        } & {
            [key: string]: unknown;
        };
        /** @description As `NativeSeedreamRequest`, for an image in layers. */
        NativeSeedreamLayersRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt?: string | null;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[];
            /** @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers. */
            response_format?: unknown;
            /** @description `auto`: several images that belong together. `n` above 1 sets it. */
            sequential_image_generation?: ("auto" | "disabled") | null;
            /** @description How many images at most, in `max_images`. */
            sequential_image_generation_options?: ({
                /** @description The largest number of images of the batch. */
                max_images?: number | null;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /**
             * @description Whether the image is returned as layers.
             * @constant
             */
            layer_decomposition: true;
        } & {
            [key: string]: unknown;
        };
        /** @description A request in DashScope's structure. DashScope checks what is not listed here. */
        DashScopeRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /** @description The content. */
            input: {
                /** @description One message. */
                messages: unknown;
            } & {
                [key: string]: unknown;
            };
            /** @description The size, the number of images and other parameters. All of them are forwarded. */
            parameters?: ({
                /** @description The number of images. Absent: one. */
                n?: number | null;
                /**
                 * @description `<width>*<height>`, with an asterisk.
                 * For example: 1328*1328
                 */
                size?: unknown;
                /** @description Whether the images belong together (Wan). */
                enable_sequential?: boolean | null;
            } & {
                [key: string]: unknown;
            }) | null;
        } & {
            [key: string]: unknown;
        };
        /** @description An edit with a model of the family `seedream`. It needs `images` or `image`. */
        SeedreamEditRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt?: string;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description The format of the images, such as `png`, `jpeg` or `webp`. */
            output_format?: string | null;
            /** @description `transparent`, `opaque` or `auto`, if the model knows the field. */
            background?: string | null;
            /** @description Whether the provider adds its watermark. */
            watermark?: boolean | null;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description The seed, if the model knows the field. */
            seed?: number | null;
            /** @description How closely the image follows the prompt, if the model knows the field. */
            guidance_scale?: number | null;
            /**
             * @description `auto`: several images that belong together. `n` above 1 sets it.
             * @enum {string|null}
             */
            sequential_image_generation?: "auto" | "disabled" | null;
            /** @description How many images at most, in `max_images`. */
            sequential_image_generation_options?: ({
                /** @description The largest number of images of the batch. */
                max_images?: number;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description Whether the image is returned as layers. */
            layer_decomposition?: boolean | null;
            /** @description How the provider rewrites the prompt, such as `{"mode": "fast"}`. */
            optimize_prompt_options?: {
                [key: string]: unknown;
            } | null;
            /** @description The reference images. Send either `images` or `image`. */
            images?: (string | ({
                /**
                 * @description A public link (`https:`, `http:`), or a data URL with base64.
                 * For example: https://example.com/cat.png
                 */
                image_url: string;
            } & {
                [key: string]: unknown;
            }))[] | null;
        } & {
            [key: string]: unknown;
        };
        /** @description An edit with a model of the family `qwen-image`. It needs `images` or `image`. */
        QwenImageEditRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /** @description Whether the provider adds its watermark. */
            watermark?: boolean | null;
            /** @description Whether the provider rewrites the prompt. */
            prompt_extend?: boolean | null;
            /** @description What the image must not show. */
            negative_prompt?: string | null;
            /** @description Whether the images belong together (Wan). */
            enable_sequential?: boolean | null;
            /** @description Whether the model plans the image first (Wan). */
            thinking_mode?: boolean | null;
            /** @description The size, the number of images and other parameters. All of them are forwarded. */
            parameters?: ({
                /**
                 * @description `<width>*<height>`, with an asterisk.
                 * For example: 1328*1328
                 */
                size?: string;
                /** @description The number of images. Absent: one. */
                n?: number;
                /** @description Whether the provider adds its watermark. */
                watermark?: boolean;
                /** @description Whether the provider rewrites the prompt. */
                prompt_extend?: boolean;
                /** @description What the image must not show. */
                negative_prompt?: string;
                /** @description Whether the images belong together (Wan). */
                enable_sequential?: boolean;
                /** @description Whether the model plans the image first (Wan). */
                thinking_mode?: boolean;
            } & {
                [key: string]: unknown;
            }) | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description The reference images. Send either `images` or `image`. */
            images?: (string | ({
                /**
                 * @description A public link (`https:`, `http:`), or a data URL with base64.
                 * For example: https://example.com/cat.png
                 */
                image_url: string;
            } & {
                [key: string]: unknown;
            }))[] | null;
            /** @description The shorthand has no `input`. */
            input?: null;
        } & {
            [key: string]: unknown;
        };
        /** @description An edit with a model of the family `openai`. It needs `images` or `image`. */
        OpenAIEditRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /** @description The quality, if the model knows the field. */
            quality?: string | null;
            /** @description `transparent`, `opaque` or `auto`, if the model knows the field. */
            background?: string | null;
            /** @description The format of the images, such as `png`, `jpeg` or `webp`. */
            output_format?: string | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description The number of unfinished images that are sent before each image. */
            partial_images?: number | null;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description An image, with the meaning of its name in OpenAI's interface. */
            mask?: string | ({
                /**
                 * @description A public link (`https:`, `http:`), or a data URL with base64.
                 * For example: https://example.com/cat.png
                 */
                image_url: string;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description An image, with the meaning of its name in OpenAI's interface. */
            markup?: string | ({
                /**
                 * @description A public link (`https:`, `http:`), or a data URL with base64.
                 * For example: https://example.com/cat.png
                 */
                image_url: string;
            } & {
                [key: string]: unknown;
            }) | null;
            /** @description The reference images. Send either `images` or `image`. */
            images?: (string | ({
                /**
                 * @description A public link (`https:`, `http:`), or a data URL with base64.
                 * For example: https://example.com/cat.png
                 */
                image_url: string;
            } & {
                [key: string]: unknown;
            }))[] | null;
        } & {
            [key: string]: unknown;
        };
        /** @description An edit with a model of the family `gemini`. It needs `images` or `image`. */
        GeminiEditRequest: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt: string;
            /** @description The reference image or images. With them, the request is an edit. */
            image?: string | string[] | null;
            /** @description The number of images. Absent: one. */
            n?: number | null;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string | null;
            /** @description The aspect ratio, such as `16:9`, in place of `size`. */
            aspect_ratio?: unknown;
            /** @description The size tier, such as `2K`, in place of `size`. */
            resolution?: unknown;
            /** @description The seed, if the model knows the field. */
            seed?: number | null;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string|null}
             */
            response_format?: "url" | "b64_json" | null;
            /** @description Whether the images are sent as events when they are ready. */
            stream?: boolean | null;
            /** @description Gemini's own settings, without those that `n` and `size` set. */
            generationConfig?: {
                [key: string]: unknown;
            } | null;
            /** @description Gemini's own settings. */
            safetySettings?: unknown[] | null;
            /** @description Gemini's own instruction. */
            systemInstruction?: {
                [key: string]: unknown;
            } | null;
            /** @description The reference images. Send either `images` or `image`. */
            images?: (string | ({
                /**
                 * @description A public link (`https:`, `http:`), or a data URL with base64.
                 * For example: https://example.com/cat.png
                 */
                image_url: string;
            } & {
                [key: string]: unknown;
            }))[] | null;
        } & {
            [key: string]: unknown;
        };
        /** @description An edit as a form, with the fields of all models. All of them but the images are strings; a member of an object may have a field of its own, such as `parameters[size]`. Further fields of the model are allowed. */
        EditForm: {
            /**
             * @description The service's name of the model; `GET /v1/models` lists those that the key may use.
             * For example: seedream-4-5-251128
             */
            model: string;
            /** @description The reference image. It may be repeated, and be a link or a data URL. */
            image?: string | string[];
            /** @description As `image`. `image[0]`, `image[1]` … set the order. */
            "image[]"?: string | string[];
            /** @description The area to change, if the model takes one. */
            mask?: string;
            /** @description Marks that show the change, if the model takes them. */
            markup?: string;
            /**
             * @description What the image shows, or how it is changed.
             * For example: a paper boat on a lake
             */
            prompt?: string;
            /** @description The number of images. Absent: one. */
            n?: string;
            /**
             * @description `<width>x<height>`, or a preset of the model such as `2K`.
             * For example: 2048x2048
             */
            size?: string;
            /**
             * @description `url`: links, which expire. `b64_json`: base64. Absent: what the server or the provider prefers.
             * @enum {string}
             */
            response_format?: "url" | "b64_json";
            /** @description The format of the images, such as `png`, `jpeg` or `webp`. */
            output_format?: string;
            /** @description `transparent`, `opaque` or `auto`, if the model knows the field. */
            background?: string;
            /**
             * @description Whether the provider adds its watermark.
             * @enum {string}
             */
            watermark?: "true" | "false";
            /** @description The seed, if the model knows the field. */
            seed?: string;
            /** @description How closely the image follows the prompt, if the model knows the field. */
            guidance_scale?: string;
            /**
             * @description `auto`: several images that belong together. `n` above 1 sets it.
             * @enum {string}
             */
            sequential_image_generation?: "auto" | "disabled";
            /** @description How many images at most, in `max_images`. */
            sequential_image_generation_options?: string;
            /**
             * @description Whether the images are sent as events when they are ready.
             * @enum {string}
             */
            stream?: "true" | "false";
            /**
             * @description Whether the image is returned as layers.
             * @enum {string}
             */
            layer_decomposition?: "true" | "false";
            /** @description How the provider rewrites the prompt, such as `{"mode": "fast"}`. */
            optimize_prompt_options?: string;
            /**
             * @description Whether the provider rewrites the prompt.
             * @enum {string}
             */
            prompt_extend?: "true" | "false";
            /** @description What the image must not show. */
            negative_prompt?: string;
            /**
             * @description Whether the images belong together (Wan).
             * @enum {string}
             */
            enable_sequential?: "true" | "false";
            /**
             * @description Whether the model plans the image first (Wan).
             * @enum {string}
             */
            thinking_mode?: "true" | "false";
            /** @description The size, the number of images and other parameters. All of them are forwarded. */
            parameters?: string;
            /** @description The quality, if the model knows the field. */
            quality?: string;
            /** @description The number of unfinished images that are sent before each image. */
            partial_images?: string;
            /** @description The aspect ratio, such as `16:9`, in place of `size`. */
            aspect_ratio?: string;
            /** @description The size tier, such as `2K`, in place of `size`. */
            resolution?: string;
            /** @description Gemini's own settings, without those that `n` and `size` set. */
            generationConfig?: string;
            /** @description Gemini's own settings. */
            safetySettings?: string;
            /** @description Gemini's own instruction. */
            systemInstruction?: string;
        } & {
            [key: string]: unknown;
        };
        /** @description What was wrong. */
        ErrorDetails: {
            /** @description What was wrong, and what to send instead. */
            message: string;
            /**
             * @description The kind of the error, as OpenAI names kinds.
             * @enum {string}
             */
            type: "invalid_request_error" | "authentication_error" | "permission_error" | "insufficient_quota" | "rate_limit_error" | "server_error" | "upstream_error";
            /** @description The gateway's code, or the provider's. */
            code: ("invalid_request_error" | "invalid_api_key" | "not_signed_in" | "upstream_authentication_failed" | "model_not_allowed" | "insufficient_quota" | "request_refused" | "cross_site_request" | "model_not_priced" | "group_not_priced" | "not_found" | "file_not_found" | "task_not_found" | "model_not_found" | "method_not_allowed" | "request_timeout" | "idempotency_in_progress" | "idempotency_not_replayable" | "task_not_cancellable" | "file_expired" | "request_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "idempotency_conflict" | "upstream_rejected" | "rate_limit_exceeded" | "upstream_rate_limited" | "upstream_quota_exceeded" | "internal_error" | "body_already_read" | "task_input_lost" | "upstream_error" | "upstream_invalid_response" | "upstream_unreachable" | "upstream_no_image" | "image_not_marked" | "outcome_unknown" | "task_result_lost" | "task_expired" | "task_queue_full" | "model_paused" | "overloaded" | "gateway_unavailable" | "gateway_closed" | "upstream_timeout") | (string & {});
            /** @description The field that is wrong, as a path. */
            param: string | null;
            /** @description The provider's id of the request. */
            upstream_request_id?: string;
        };
        /** @description The body of every error of the gateway. */
        Error: {
            error: components["schemas"]["ErrorDetails"];
        };
        /** @description The provider's own error, or `Error` for errors of the gateway. */
        NativeError: {
            [key: string]: unknown;
        };
        /** @description DashScope's own error, or an error of the gateway, which also has `error`. */
        DashScopeError: {
            /** @description The provider's id of the request, or the gateway's. */
            request_id?: string;
            /** @description The code. */
            code?: string;
            /** @description What was wrong. */
            message?: string;
            error?: components["schemas"]["ErrorDetails"];
        };
        /** @description An image: a link or base64, and what is known of it. */
        Image: {
            /** @description A link to the image. It expires. */
            url?: string;
            /** @description The image in base64. Family B may have an empty string beside `url`. */
            b64_json?: string;
            /** @description The size, `<width>x<height>`. */
            size?: string;
            /** @description The prompt that the model used. Empty if there is none. */
            revised_prompt?: string;
            /** @description The format of the image. */
            output_format?: string;
            /** @description A link to the stored image, beside `b64_json`. */
            stored_url?: string;
            /** @description The position of a layer. */
            z_index?: number;
        };
        ItemError: {
            /** @description The index of the image in the batch, from 0. */
            index: number;
            /** @description The provider's code, or the gateway's. */
            code: string;
            /** @description Why there is no image, or why it has another form than requested. */
            message: string;
        };
        /** @description What the provider reported, and 0 for tokens that it did not report. Events of the native format have only what it reported. */
        Usage: {
            /** @description The number of images that were made. */
            generated_images?: number;
            /** @description The tokens of the request. */
            input_tokens?: number;
            /** @description The tokens of the images. */
            output_tokens?: number;
            /** @description All tokens. */
            total_tokens?: number;
            /** @description The tokens of the request by their kind. */
            input_tokens_details?: {
                /** @description If the kind of the input is not known, it is text. */
                text_tokens?: number;
                /** @description If the kind of the input is not known, it is text. */
                image_tokens?: number;
            };
        };
        /** @description The images of a request. */
        ImagesResponse: {
            /** @description When the images were made, in seconds since 1970. */
            created: number;
            /** @description The service's name of the model. Family B has none. */
            model?: string;
            /** @description One element for each image that was made. */
            data: components["schemas"]["Image"][];
            usage?: components["schemas"]["Usage"];
            /** @description What else the provider reported. */
            extra?: {
                /** @description The provider's id of the request (family B). */
                request_id?: string;
                /** @description The images that could not be made or converted. */
                errors?: components["schemas"]["ItemError"][];
            };
        };
        /** @description Ark's own response. */
        NativeImagesResponse: {
            [key: string]: unknown;
        };
        /** @description DashScope's own response. */
        DashScopeResponse: {
            [key: string]: unknown;
        };
        ModelSizes: {
            /** @description Names such as `2K`. */
            presets: string[];
            /** @description If it is not empty: only these sizes, `<width>x<height>`. */
            list: string[];
            /** @description Width times height, at least. */
            min_pixels: number | null;
            /** @description Width times height, at most. */
            max_pixels: number | null;
            /** @description Each side, at least. */
            min_side: number | null;
            /** @description Each side, at most. */
            max_side: number | null;
            /** @description The longer side divided by the shorter one, at most. */
            max_aspect_ratio: number | null;
            /** @description Both sides are multiples of this. */
            multiple_of?: number;
        };
        /** @description What the model can do, and which values its fields take. */
        ModelCapabilities: {
            /** @description The endpoints of `/v1` that serve the model. */
            operations: ("generate" | "edit")[];
            /** @description The accepted values of `size`. `null`: they are not known. */
            sizes: components["schemas"]["ModelSizes"] | null;
            /** @description The largest `n`. */
            max_images: number | null;
            /** @description How many reference images a request may have. */
            references: {
                /** @description The fewest. */
                min: number;
                /** @description The most. */
                max: number;
            } | null;
            /** @description The most reference images and images together. */
            max_references_and_images: number | null;
            /** @description Whether a request may have `stream: true`. */
            stream: boolean;
            /** @description The values of `background`. */
            background: string[] | null;
            /** @description The values of `output_format`. `null`: any. */
            output_formats: string[] | null;
            /** @description The values of `quality` besides `auto`. */
            qualities?: string[];
            /** @description What `layer_decomposition` makes, beside the base image. */
            layers: {
                /** @description The most layers. */
                max: number;
                /** @description The sizes. */
                sizes: string[] | null;
            } | null;
        };
        /** @description What a request would make and cost at most. */
        Estimate: {
            /** @description The service's name of the model. */
            model: string;
            /** @description The most images that the request can make. */
            max_images: number;
            /** @description The most that the request can be charged, a decimal. `null`: the server does not show prices. */
            charge: string | null;
            /** @description The size that is requested in place of that of the request. Absent: the same. */
            size?: string;
            /** @description Known fields that would have no effect. */
            ignored: string[];
        };
        /** @description A model that the key may use. */
        Model: {
            /** @description The name to send as `model`. */
            id: string;
            /**
             * @description Always `model`.
             * @constant
             */
            object: "model";
            /** @description When the provider released the model; 0 if that is not known, in seconds since 1970. */
            created: number;
            /** @description The family of the model. */
            owned_by: string;
            capabilities: components["schemas"]["ModelCapabilities"];
            /** @description The prices for the caller, if the server shows them. */
            price?: {
                [key: string]: unknown;
            };
        };
        /** @description The models that the key may use. */
        ModelList: {
            /**
             * @description Always `list`.
             * @constant
             */
            object: "list";
            /** @description The models. */
            data: components["schemas"]["Model"][];
        };
        /** @description A request whose response is fetched later. */
        Task: {
            /** @description The id of the task. */
            id: string;
            /**
             * @description Always `image.task`.
             * @constant
             */
            object: "image.task";
            /**
             * @description Where the task is. The last three are its end.
             * @enum {string}
             */
            status: "queued" | "in_progress" | "completed" | "failed" | "cancelled";
            /** @description When the task was submitted, in seconds since 1970. */
            created_at: number;
            /** @description When the task fails if it still waits, in seconds since 1970. */
            expires_at: number;
            /** @description When the task ended, in seconds since 1970. */
            ended_at?: number;
            /** @description The service's name of the model. */
            model: string;
            /**
             * @description What the request makes.
             * @enum {string}
             */
            operation: "generate" | "edit";
            /** @description The `x-request-id` of the submission. */
            request_id: string;
            /** @description The images that arrived so far. */
            images?: components["schemas"]["Image"][];
            /** @description The response, when the task is completed. */
            result?: components["schemas"]["ImagesResponse"];
            /** @description Why the task failed. */
            error?: components["schemas"]["ErrorDetails"];
        };
        /** @description A page of the caller's tasks. */
        TaskList: {
            /**
             * @description Always `list`.
             * @constant
             */
            object: "list";
            /** @description The newest first, without `images` and `result`. */
            data: components["schemas"]["Task"][];
            /** @description The id of the first task. */
            first_id: string | null;
            /** @description The id of the last task: `after` of the next page. */
            last_id: string | null;
            /** @description Whether there is a next page. */
            has_more: boolean;
        };
        /** @description The state of the parts of the server. */
        Health: {
            /**
             * @description The store of money and records.
             * @enum {string}
             */
            ledger: "ok" | "failing";
            /**
             * @description The store of limits, idempotency keys and cooldowns.
             * @enum {string}
             */
            store: "ok" | "failing";
            /**
             * @description The accounts at providers.
             * @enum {string}
             */
            channels: "ok" | "failing";
        };
        /** @description Native format: an image of the batch is finished. */
        ImagePartialSucceededEvent: {
            /**
             * @description Always `image_generation.partial_succeeded`.
             * @constant
             */
            type: "image_generation.partial_succeeded";
            /** @description The provider's name of the model. */
            model?: string;
            /** @description When the image was made, in seconds since 1970. */
            created?: number;
            /** @description The index of the image, from 0. */
            image_index?: number;
            /** @description A link to the image. */
            url?: string;
            /** @description The image in base64. */
            b64_json?: string;
            /** @description The size. */
            size?: string;
        };
        /** @description Native format: an image of the batch failed. */
        ImagePartialFailedEvent: {
            /**
             * @description Always `image_generation.partial_failed`.
             * @constant
             */
            type: "image_generation.partial_failed";
        };
        /** @description Stream format `openai`: an image is finished. `usage` is in the last one, and 0 in those before it, unless the provider reports each image. In the native format: the generation ended, with `usage`. */
        ImageGenerationCompletedEvent: {
            /**
             * @description Always `image_generation.completed`.
             * @constant
             */
            type: "image_generation.completed";
            /** @description When the image was made, in seconds since 1970. */
            created_at?: number;
            /** @description The image in base64. */
            b64_json?: string;
            /** @description A link to the image. */
            url?: string;
            /** @description The size, or `auto` if it is not known. */
            size?: string;
            /** @description The quality, or `auto`. */
            quality?: string;
            /** @description The background, or `auto`. */
            background?: string;
            /** @description The format of the image. */
            output_format?: string;
            usage?: components["schemas"]["Usage"];
            /** @description `errors`: the images that failed. */
            extra?: {
                [key: string]: unknown;
            };
        };
        /** @description Stream format `openai`: an image is finished. `usage` is in the last one, and 0 in those before it, unless the provider reports each image. In the native format: the generation ended, with `usage`. */
        ImageEditCompletedEvent: {
            /**
             * @description Always `image_edit.completed`.
             * @constant
             */
            type: "image_edit.completed";
            /** @description When the image was made, in seconds since 1970. */
            created_at?: number;
            /** @description The image in base64. */
            b64_json?: string;
            /** @description A link to the image. */
            url?: string;
            /** @description The size, or `auto` if it is not known. */
            size?: string;
            /** @description The quality, or `auto`. */
            quality?: string;
            /** @description The background, or `auto`. */
            background?: string;
            /** @description The format of the image. */
            output_format?: string;
            usage?: components["schemas"]["Usage"];
            /** @description `errors`: the images that failed. */
            extra?: {
                [key: string]: unknown;
            };
        };
        /** @description Stream format `openai`: the usage, if fewer images came than were requested. */
        ImageGenerationUsageEvent: {
            /**
             * @description Always `image_generation.usage`.
             * @constant
             */
            type: "image_generation.usage";
        };
        /** @description As `image_generation.usage`, for an edit. */
        ImageEditUsageEvent: {
            /**
             * @description Always `image_edit.usage`.
             * @constant
             */
            type: "image_edit.usage";
        };
        /** @description The stream failed. The data is the body of an error, or what the provider sent. */
        ErrorEvent: {
            /** @description What was wrong. */
            error: {
                /** @description The provider's code, or the gateway's. */
                code?: string;
                /** @description What was wrong. */
                message?: string;
            };
        };
        /** @description An image of a task is finished. */
        TaskImageEvent: {
            /** @description The id of the task. */
            task_id: string;
            /** @description The index of the image, from 0. */
            index: number;
            image: components["schemas"]["Image"];
        };
        /** @description A chat completion of a model that makes images. */
        ChatCompletionRequest: {
            /** @description The service's name of the model. */
            model: string;
            /** @description The conversation. The last message of the user is read. */
            messages: {
                /** @description `user`, or that of a message that is not read. */
                role: string;
                /** @description Text, or parts of the types `text` and `image_url`. */
                content?: string | {
                    [key: string]: unknown;
                }[];
            }[];
            /** @description Whether the images are sent as events. */
            stream?: boolean | null;
            /** @description As OpenRouter has it: `aspect_ratio`, `image_size`. */
            image_config?: {
                [key: string]: unknown;
            };
        };
        /** @description The images, as the message of a chat completion. */
        ChatCompletion: {
            /** @description The id of the completion. */
            id: string;
            /**
             * @description Always `chat.completion`.
             * @constant
             */
            object: "chat.completion";
            /** @description When the images were made, in seconds since 1970. */
            created: number;
            /** @description The service's name of the model. */
            model: string;
            /** @description One choice with all images. */
            choices: {
                /** @description 0 */
                index: number;
                /** @description The message with the images. */
                message: {
                    /**
                     * @description Always `assistant`.
                     * @constant
                     */
                    role: "assistant";
                    /** @description Markdown with the images that have links. */
                    content: string;
                    /** @description The images. */
                    images: {
                        /**
                         * @description Always `image_url`.
                         * @constant
                         */
                        type: "image_url";
                        /** @description The index of the image, from 0. */
                        index: number;
                        /** @description Where the image is. */
                        image_url: {
                            /** @description A link, or a data URL. */
                            url: string;
                        };
                    }[];
                };
                /** @description `stop` at the end. */
                finish_reason: string | null;
            }[];
            /** @description What the provider reported. */
            usage?: {
                /** @description The tokens of the request. */
                prompt_tokens: number;
                /** @description The tokens of the images. */
                completion_tokens: number;
                /** @description All tokens. */
                total_tokens: number;
            };
        };
        /** @description A chunk, or at the end an object with `error` in its place. The stream ends with `data: [DONE]`. */
        ChatCompletionChunk: {
            /** @description The id of the completion. */
            id: string;
            /**
             * @description Always `chat.completion.chunk`.
             * @constant
             */
            object: "chat.completion.chunk";
            /** @description When the request came, in seconds since 1970. */
            created: number;
            /** @description The service's name of the model. */
            model: string;
            /** @description One choice. */
            choices: {
                /** @description 0 */
                index: number;
                /** @description What is added to the message. */
                delta: {
                    /**
                     * @description Always `assistant`.
                     * @constant
                     */
                    role?: "assistant";
                    /** @description Markdown with the images that have links. */
                    content?: string;
                    /** @description The images. */
                    images?: {
                        /**
                         * @description Always `image_url`.
                         * @constant
                         */
                        type: "image_url";
                        /** @description The index of the image, from 0. */
                        index: number;
                        /** @description Where the image is. */
                        image_url: {
                            /** @description A link, or a data URL. */
                            url: string;
                        };
                    }[];
                };
                /** @description `stop` at the end. */
                finish_reason: string | null;
            }[];
            /** @description What the provider reported. */
            usage?: {
                /** @description The tokens of the request. */
                prompt_tokens: number;
                /** @description The tokens of the images. */
                completion_tokens: number;
                /** @description All tokens. */
                total_tokens: number;
            };
        };
        /** @description Google's request. */
        GenerateContentRequest: {
            /** @description Parts are `text`, `inlineData` or `fileData`. */
            contents: {
                [key: string]: unknown;
            }[];
            /** @description `candidateCount`, `seed`, `imageConfig` and what the model itself takes. */
            generationConfig?: {
                [key: string]: unknown;
            };
        };
        /** @description Google's response. */
        GenerateContentResponse: {
            /** @description Absent in an event that has the usage only. */
            candidates?: {
                /** @description The index of the image, from 0. */
                index: number;
                /** @description The content with the image. */
                content: {
                    /**
                     * @description Always `model`.
                     * @constant
                     */
                    role: "model";
                    /** @description The image, as `inlineData` or `fileData`. */
                    parts: {
                        [key: string]: unknown;
                    }[];
                };
                /**
                 * @description Always `STOP`.
                 * @constant
                 */
                finishReason: "STOP";
            }[];
            /** @description What the provider reported. */
            usageMetadata?: {
                /** @description The tokens of the request. */
                promptTokenCount?: number;
                /** @description The tokens of the images. */
                candidatesTokenCount?: number;
                /** @description All tokens. */
                totalTokenCount?: number;
            };
            /** @description The service's name of the model. */
            modelVersion: string;
            /** @description The id of the request. */
            responseId: string;
        };
        /** @description Google's error. */
        GeminiErrorBody: {
            /** @description What was wrong. */
            error: {
                /** @description The HTTP status. */
                code: number;
                /** @description Google's name of the error. */
                status: string;
                /** @description What was wrong, and what to send instead. */
                message: string;
                /** @description The gateway's code as `reason`. */
                details: {
                    [key: string]: unknown;
                }[];
            };
        };
        /** @description DashScope's request of a task. */
        DashScopeTaskRequest: {
            /** @description The service's name of the model. */
            model: string;
            /** @description `messages`, or `prompt` and images. */
            input: {
                [key: string]: unknown;
            };
            /** @description `size`, `n` and what the model itself takes. */
            parameters?: {
                [key: string]: unknown;
            };
        };
        /** @description A task in DashScope's shape. */
        DashScopeTask: {
            /** @description The id of the request. */
            request_id: string;
            /** @description The task, and its images at its end. */
            output?: {
                /** @description The id of the task. */
                task_id: string;
                /**
                 * @description Where the task is.
                 * @enum {string}
                 */
                task_status: "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "CANCELED" | "UNKNOWN";
                /** @description The images, as image generation has them. */
                choices?: {
                    [key: string]: unknown;
                }[];
                /** @description The images, as image synthesis has them. */
                results?: {
                    [key: string]: unknown;
                }[];
                /** @description Why it failed. */
                code?: string;
                /** @description Why it failed. */
                message?: string;
            };
            /** @description What was made. */
            usage?: {
                /** @description The number of images. */
                image_count: number;
            };
        };
    };
    responses: {
        /** @description The request is wrong, or the provider refused it. Codes: `invalid_request_error`, `upstream_rejected`. */
        Error400: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The key is missing or wrong, nobody is signed in, or the providers refused the server's own key. Codes: `invalid_api_key`, `not_signed_in`, `upstream_authentication_failed`. */
        Error401: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                "www-authenticate": components["headers"]["www-authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The key does not permit this, or a page of another site has sent a request without a key. Codes: `model_not_allowed`, `insufficient_quota`, `request_refused`, `cross_site_request`, `model_not_priced`, `group_not_priced`. */
        Error403: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no such path, model, task or file. Codes: `not_found`, `file_not_found`, `task_not_found`, `model_not_found`. */
        Error404: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The path does not take this method. Codes: `method_not_allowed`. */
        Error405: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                allow: components["headers"]["allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body arrived too slowly. Codes: `request_timeout`. */
        Error408: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The state does not permit this. Codes: `idempotency_in_progress`, `idempotency_not_replayable`, `task_not_cancellable`. */
        Error409: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is too large. Codes: `request_too_large`. */
        Error413: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body has a type that the path does not take. Codes: `unsupported_media_type`. */
        Error415: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The idempotency key belongs to another request. Codes: `idempotency_conflict`. */
        Error422: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A limit is reached. Codes: `rate_limit_exceeded`, `upstream_rate_limited`, `upstream_quota_exceeded`. */
        Error429: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The server failed. Codes: `internal_error`, `body_already_read`, `task_input_lost`. */
        Error500: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The provider failed. Codes: `upstream_error`, `upstream_invalid_response`, `upstream_unreachable`, `upstream_no_image`, `image_not_marked`, `outcome_unknown`, `task_result_lost`. */
        Error502: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The server or the provider cannot take the request now. Codes: `task_expired`, `task_queue_full`, `model_paused`, `overloaded`, `gateway_unavailable`, `gateway_closed`. */
        Error503: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The provider did not respond in time. Codes: `upstream_timeout`. */
        Error504: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description An error of the provider with a status of its own. */
        ProviderError: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                "www-authenticate": components["headers"]["www-authenticate"];
                allow: components["headers"]["allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description An error of Ark, or of the gateway. */
        NativeError: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                "www-authenticate": components["headers"]["www-authenticate"];
                allow: components["headers"]["allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["NativeError"];
            };
        };
        /** @description An error of DashScope, or of the gateway. */
        DashScopeError: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                "www-authenticate": components["headers"]["www-authenticate"];
                allow: components["headers"]["allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["DashScopeError"];
            };
        };
        /** @description An error in Google's shape. */
        GeminiError: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "x-calotype-charge": components["headers"]["x-calotype-charge"];
                "retry-after": components["headers"]["retry-after"];
                "x-should-retry": components["headers"]["x-should-retry"];
                "ratelimit-policy": components["headers"]["ratelimit-policy"];
                ratelimit: components["headers"]["ratelimit"];
                "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                "www-authenticate": components["headers"]["www-authenticate"];
                allow: components["headers"]["allow"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["GeminiErrorBody"];
            };
        };
        /** @description Codes: `file_not_found`, `method_not_allowed`, `file_expired`, `range_not_satisfiable`, `internal_error`, `gateway_unavailable`, `gateway_closed`. */
        FileError: {
            headers: {
                "x-request-id": components["headers"]["x-request-id"];
                "cache-control": components["headers"]["cache-control"];
                "retry-after": components["headers"]["retry-after"];
                allow: components["headers"]["allow"];
                "content-range": components["headers"]["content-range"];
                "access-control-allow-origin": components["headers"]["access-control-allow-origin"];
                "cross-origin-resource-policy": components["headers"]["cross-origin-resource-policy"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: {
        /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
        "x-calotype-tags": string;
        /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
        "idempotency-key": string;
        /** @description `respond-async`: a task in place of the images (RFC 7240). */
        prefer: string;
        /** @description `wait=30`: as the query `wait` (RFC 7240). */
        "prefer-wait": string;
        /** @description With a task: the names of the caller's endpoints that get a message about its end. */
        "x-calotype-webhook": string;
        /** @description `enable`: DashScope's SDKs send it for tasks. */
        "x-dashscope-async": "enable";
        /** @description `sse`: the only format of this stream. */
        alt: "sse";
        /** @description The name of a model. A slash in it may be encoded. */
        model: string;
        /** @description The id of a task of the caller. */
        task_id: string;
        /** @description For how many seconds to wait for the end of the task. */
        wait: number;
        /** @description How many tasks to return. */
        limit: number;
        /** @description The `last_id` of the page before. */
        after: string;
        /** @description The last part of a link. */
        file_id: string;
        /** @description As in the link. */
        expires: string;
        /** @description As in the link. */
        signature: string;
        /** @description The bytes to send. */
        range: string;
        /** @description The `etag` that the client has. */
        "if-none-match": string;
    };
    requestBodies: never;
    headers: {
        /** @description The id of the request, for support. */
        "x-request-id": string;
        /** @description `false`: a repeat could be charged twice, or cannot succeed. */
        "x-should-retry": "false";
        /** @description After how many seconds a repeat makes sense. */
        "retry-after": string;
        /** @description The fields that had no effect. */
        "x-calotype-ignored": string;
        /** @description The size that was requested in place of one that the model does not accept. */
        "x-calotype-size": string;
        /** @description The exact charge of the request, a decimal. Only if the operator shows it. */
        "x-calotype-charge": string;
        /** @description A stored response was sent again: the id of the request that made it. */
        "x-calotype-original-request-id": string;
        /** @description The limits of the caller (draft-ietf-httpapi-ratelimit-headers). */
        "ratelimit-policy": string;
        /** @description What is left of them. */
        ratelimit: string;
        /** @description The limit of requests that is closest to its end. */
        "x-ratelimit-limit-requests": string;
        /** @description How many requests are left. */
        "x-ratelimit-remaining-requests": string;
        /** @description When it begins again, such as `6m0s`. */
        "x-ratelimit-reset-requests": string;
        /** @description The limit of images that is closest to its end. */
        "x-ratelimit-limit-images": string;
        /** @description How many images are left. */
        "x-ratelimit-remaining-images": string;
        /** @description When it begins again. */
        "x-ratelimit-reset-images": string;
        /** @description The preference that was followed. */
        "preference-applied": string;
        /** @description The path of the task. */
        location: string;
        /** @description The method to send. */
        allow: string;
        /** @description The scheme of the key. */
        "www-authenticate": "Bearer";
        /** @description How long the response may be kept. */
        "cache-control": string;
        /** @description `no`: proxies must not hold events back. */
        "x-accel-buffering": string;
        /** @description Ranges are in bytes. */
        "accept-ranges": string;
        /** @description The name of the file. */
        "content-disposition": string;
        /** @description The bytes that were sent. */
        "content-range": string;
        /** @description Keeps a browser from running what is in the file. */
        "content-security-policy": string;
        /** @description Every page may show the file. */
        "cross-origin-resource-policy": string;
        /** @description Every page may read the file. */
        "access-control-allow-origin": string;
        /** @description The file never changes. */
        etag: string;
        /** @description `nosniff` */
        "x-content-type-options": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    createImage: {
        parameters: {
            query?: never;
            header?: {
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `respond-async`: a task in place of the images (RFC 7240). */
                prefer?: components["parameters"]["prefer"];
                /** @description With a task: the names of the caller's endpoints that get a message about its end. */
                "x-calotype-webhook"?: components["parameters"]["x-calotype-webhook"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "seedream-4-5-251128",
                 *       "prompt": "a red fox in the snow",
                 *       "size": "2048x2048"
                 *     }
                 */
                "application/json": components["schemas"]["SeedreamRequest"] | components["schemas"]["SeedreamLayersRequest"] | components["schemas"]["QwenImageRequest"] | components["schemas"]["QwenImageShorthandRequest"] | components["schemas"]["OpenAIRequest"] | components["schemas"]["GeminiRequest"];
            };
        };
        responses: {
            /** @description The images, or with `stream: true` their events. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    "x-accel-buffering": components["headers"]["x-accel-buffering"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "created": 1764403200,
                     *       "model": "seedream-4-5-251128",
                     *       "data": [
                     *         {
                     *           "url": "https://example.com/fox.png",
                     *           "size": "2048x2048"
                     *         }
                     *       ],
                     *       "usage": {
                     *         "generated_images": 1,
                     *         "output_tokens": 16384,
                     *         "total_tokens": 16384
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ImagesResponse"];
                    "text/event-stream": string;
                };
            };
            /** @description With `Prefer: respond-async`: the task. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    location: components["headers"]["location"];
                    "retry-after": components["headers"]["retry-after"];
                    "preference-applied": components["headers"]["preference-applied"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "id": "task_0123456789abcdef0123456789abcdef",
                     *       "object": "image.task",
                     *       "status": "queued",
                     *       "created_at": 1764403200,
                     *       "expires_at": 1764489600,
                     *       "model": "seedream-4-5-251128",
                     *       "operation": "generate",
                     *       "request_id": "req_0123456789abcdef0123456789abcdef"
                     *     }
                     */
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            502: components["responses"]["Error502"];
            503: components["responses"]["Error503"];
            504: components["responses"]["Error504"];
            default: components["responses"]["ProviderError"];
        };
    };
    editImage: {
        parameters: {
            query?: never;
            header?: {
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description `respond-async`: a task in place of the images (RFC 7240). */
                prefer?: components["parameters"]["prefer"];
                /** @description With a task: the names of the caller's endpoints that get a message about its end. */
                "x-calotype-webhook"?: components["parameters"]["x-calotype-webhook"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "multipart/form-data": components["schemas"]["EditForm"];
                /**
                 * For example: {
                 *       "model": "seedream-4-5-251128",
                 *       "prompt": "at night",
                 *       "size": "2048x2048",
                 *       "images": [
                 *         {
                 *           "image_url": "https://example.com/fox.png"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["SeedreamEditRequest"] | components["schemas"]["QwenImageEditRequest"] | components["schemas"]["OpenAIEditRequest"] | components["schemas"]["GeminiEditRequest"];
            };
        };
        responses: {
            /** @description The images, or with `stream: true` their events. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    "x-accel-buffering": components["headers"]["x-accel-buffering"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "created": 1764403200,
                     *       "model": "seedream-4-5-251128",
                     *       "data": [
                     *         {
                     *           "url": "https://example.com/fox.png",
                     *           "size": "2048x2048"
                     *         }
                     *       ],
                     *       "usage": {
                     *         "generated_images": 1,
                     *         "output_tokens": 16384,
                     *         "total_tokens": 16384
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["ImagesResponse"];
                    "text/event-stream": string;
                };
            };
            /** @description With `Prefer: respond-async`: the task. */
            202: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    location: components["headers"]["location"];
                    "retry-after": components["headers"]["retry-after"];
                    "preference-applied": components["headers"]["preference-applied"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "id": "task_0123456789abcdef0123456789abcdef",
                     *       "object": "image.task",
                     *       "status": "queued",
                     *       "created_at": 1764403200,
                     *       "expires_at": 1764489600,
                     *       "model": "seedream-4-5-251128",
                     *       "operation": "generate",
                     *       "request_id": "req_0123456789abcdef0123456789abcdef"
                     *     }
                     */
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            502: components["responses"]["Error502"];
            503: components["responses"]["Error503"];
            504: components["responses"]["Error504"];
            default: components["responses"]["ProviderError"];
        };
    };
    estimateImage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "seedream-4-5-251128",
                 *       "prompt": "a red fox in the snow",
                 *       "size": "2048x2048"
                 *     }
                 */
                "application/json": components["schemas"]["SeedreamRequest"] | components["schemas"]["SeedreamLayersRequest"] | components["schemas"]["QwenImageRequest"] | components["schemas"]["QwenImageShorthandRequest"] | components["schemas"]["OpenAIRequest"] | components["schemas"]["GeminiRequest"];
            };
        };
        responses: {
            /** @description The estimate. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "model": "seedream-4-5-251128",
                     *       "max_images": 1,
                     *       "charge": "0.04",
                     *       "ignored": []
                     *     }
                     */
                    "application/json": components["schemas"]["Estimate"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    estimateEdit: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "seedream-4-5-251128",
                 *       "prompt": "at night",
                 *       "size": "2048x2048",
                 *       "images": [
                 *         {
                 *           "image_url": "https://example.com/fox.png"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["SeedreamEditRequest"] | components["schemas"]["QwenImageEditRequest"] | components["schemas"]["OpenAIEditRequest"] | components["schemas"]["GeminiEditRequest"];
            };
        };
        responses: {
            /** @description The estimate. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "model": "seedream-4-5-251128",
                     *       "max_images": 1,
                     *       "charge": "0.04",
                     *       "ignored": []
                     *     }
                     */
                    "application/json": components["schemas"]["Estimate"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    createNativeImage: {
        parameters: {
            query?: never;
            header?: {
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "seedream-4-5-251128",
                 *       "prompt": "a red fox in the snow",
                 *       "size": "2048x2048"
                 *     }
                 */
                "application/json": components["schemas"]["NativeSeedreamRequest"] | components["schemas"]["NativeSeedreamLayersRequest"];
            };
        };
        responses: {
            /** @description The images, or with `stream: true` their events. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    "x-accel-buffering": components["headers"]["x-accel-buffering"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "created": 1764403200,
                     *       "model": "doubao-seedream-4-5-251128",
                     *       "data": [
                     *         {
                     *           "url": "https://example.com/fox.png",
                     *           "size": "2048x2048"
                     *         }
                     *       ],
                     *       "usage": {
                     *         "generated_images": 1,
                     *         "output_tokens": 16384,
                     *         "total_tokens": 16384
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["NativeImagesResponse"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["NativeError"];
            401: components["responses"]["NativeError"];
            403: components["responses"]["NativeError"];
            404: components["responses"]["NativeError"];
            405: components["responses"]["NativeError"];
            408: components["responses"]["NativeError"];
            409: components["responses"]["NativeError"];
            413: components["responses"]["NativeError"];
            415: components["responses"]["NativeError"];
            422: components["responses"]["NativeError"];
            429: components["responses"]["NativeError"];
            500: components["responses"]["NativeError"];
            502: components["responses"]["NativeError"];
            503: components["responses"]["NativeError"];
            504: components["responses"]["NativeError"];
            default: components["responses"]["NativeError"];
        };
    };
    createDashScopeImage: {
        parameters: {
            query?: never;
            header?: {
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "image-max",
                 *       "input": {
                 *         "messages": [
                 *           {
                 *             "role": "user",
                 *             "content": [
                 *               {
                 *                 "text": "a red fox in the snow"
                 *               }
                 *             ]
                 *           }
                 *         ]
                 *       },
                 *       "parameters": {
                 *         "size": "1328*1328"
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["DashScopeRequest"];
            };
        };
        responses: {
            /** @description The images. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    "x-accel-buffering": components["headers"]["x-accel-buffering"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "output": {
                     *         "choices": [
                     *           {
                     *             "finish_reason": "stop",
                     *             "message": {
                     *               "role": "assistant",
                     *               "content": [
                     *                 {
                     *                   "image": "https://example.com/fox.png"
                     *                 }
                     *               ]
                     *             }
                     *           }
                     *         ]
                     *       },
                     *       "usage": {
                     *         "image_count": 1,
                     *         "width": 1328,
                     *         "height": 1328
                     *       },
                     *       "request_id": "01234567-89ab-cdef-0123-456789abcdef"
                     *     }
                     */
                    "application/json": components["schemas"]["DashScopeResponse"];
                };
            };
            400: components["responses"]["DashScopeError"];
            401: components["responses"]["DashScopeError"];
            403: components["responses"]["DashScopeError"];
            404: components["responses"]["DashScopeError"];
            405: components["responses"]["DashScopeError"];
            408: components["responses"]["DashScopeError"];
            409: components["responses"]["DashScopeError"];
            413: components["responses"]["DashScopeError"];
            415: components["responses"]["DashScopeError"];
            422: components["responses"]["DashScopeError"];
            429: components["responses"]["DashScopeError"];
            500: components["responses"]["DashScopeError"];
            502: components["responses"]["DashScopeError"];
            503: components["responses"]["DashScopeError"];
            504: components["responses"]["DashScopeError"];
            default: components["responses"]["DashScopeError"];
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The models. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "seedream-4-5-251128",
                     *           "object": "model",
                     *           "created": 1764288000,
                     *           "owned_by": "seedream",
                     *           "capabilities": {
                     *             "operations": [
                     *               "generate",
                     *               "edit"
                     *             ],
                     *             "sizes": {
                     *               "presets": [
                     *                 "2K",
                     *                 "4K"
                     *               ],
                     *               "list": [],
                     *               "min_pixels": 3686400,
                     *               "max_pixels": 16777216,
                     *               "min_side": null,
                     *               "max_side": null,
                     *               "max_aspect_ratio": 16
                     *             },
                     *             "max_images": 15,
                     *             "references": {
                     *               "min": 0,
                     *               "max": 14
                     *             },
                     *             "max_references_and_images": 15,
                     *             "stream": true,
                     *             "background": null,
                     *             "output_formats": null,
                     *             "layers": null
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            405: components["responses"]["Error405"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    retrieveModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a model. A slash in it may be encoded. */
                model: components["parameters"]["model"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The model. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "id": "seedream-4-5-251128",
                     *       "object": "model",
                     *       "created": 1764288000,
                     *       "owned_by": "seedream",
                     *       "capabilities": {
                     *         "operations": [
                     *           "generate",
                     *           "edit"
                     *         ],
                     *         "sizes": {
                     *           "presets": [
                     *             "2K",
                     *             "4K"
                     *           ],
                     *           "list": [],
                     *           "min_pixels": 3686400,
                     *           "max_pixels": 16777216,
                     *           "min_side": null,
                     *           "max_side": null,
                     *           "max_aspect_ratio": 16
                     *         },
                     *         "max_images": 15,
                     *         "references": {
                     *           "min": 0,
                     *           "max": 14
                     *         },
                     *         "max_references_and_images": 15,
                     *         "stream": true,
                     *         "background": null,
                     *         "output_formats": null,
                     *         "layers": null
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Model"];
                };
            };
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description How many tasks to return. */
                limit?: components["parameters"]["limit"];
                /** @description The `last_id` of the page before. */
                after?: components["parameters"]["after"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of tasks. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "object": "list",
                     *       "data": [
                     *         {
                     *           "id": "task_0123456789abcdef0123456789abcdef",
                     *           "object": "image.task",
                     *           "status": "queued",
                     *           "created_at": 1764403200,
                     *           "expires_at": 1764489600,
                     *           "model": "seedream-4-5-251128",
                     *           "operation": "generate",
                     *           "request_id": "req_0123456789abcdef0123456789abcdef"
                     *         }
                     *       ],
                     *       "first_id": "task_0123456789abcdef0123456789abcdef",
                     *       "last_id": "task_0123456789abcdef0123456789abcdef",
                     *       "has_more": false
                     *     }
                     */
                    "application/json": components["schemas"]["TaskList"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            502: components["responses"]["Error502"];
            503: components["responses"]["Error503"];
        };
    };
    retrieveTask: {
        parameters: {
            query?: {
                /** @description For how many seconds to wait for the end of the task. */
                wait?: components["parameters"]["wait"];
            };
            header?: {
                /** @description `wait=30`: as the query `wait` (RFC 7240). */
                prefer?: components["parameters"]["prefer-wait"];
            };
            path: {
                /** @description The id of a task of the caller. */
                task_id: components["parameters"]["task_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "preference-applied": components["headers"]["preference-applied"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "id": "task_0123456789abcdef0123456789abcdef",
                     *       "object": "image.task",
                     *       "status": "queued",
                     *       "created_at": 1764403200,
                     *       "expires_at": 1764489600,
                     *       "model": "seedream-4-5-251128",
                     *       "operation": "generate",
                     *       "request_id": "req_0123456789abcdef0123456789abcdef"
                     *     }
                     */
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            502: components["responses"]["Error502"];
            503: components["responses"]["Error503"];
        };
    };
    followTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a task of the caller. */
                task_id: components["parameters"]["task_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its status and its images. The last event has the result. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-accel-buffering": components["headers"]["x-accel-buffering"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            502: components["responses"]["Error502"];
            503: components["responses"]["Error503"];
        };
    };
    cancelTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a task of the caller. */
                task_id: components["parameters"]["task_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cancelled task. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "id": "task_0123456789abcdef0123456789abcdef",
                     *       "object": "image.task",
                     *       "status": "queued",
                     *       "created_at": 1764403200,
                     *       "expires_at": 1764489600,
                     *       "model": "seedream-4-5-251128",
                     *       "operation": "generate",
                     *       "request_id": "req_0123456789abcdef0123456789abcdef"
                     *     }
                     */
                    "application/json": components["schemas"]["Task"];
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            409: components["responses"]["Error409"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            502: components["responses"]["Error502"];
            503: components["responses"]["Error503"];
        };
    };
    readFile: {
        parameters: {
            query: {
                /** @description As in the link. */
                expires: components["parameters"]["expires"];
                /** @description As in the link. */
                signature: components["parameters"]["signature"];
            };
            header?: {
                /** @description The bytes to send. */
                range?: components["parameters"]["range"];
                /** @description The `etag` that the client has. */
                "if-none-match"?: components["parameters"]["if-none-match"];
            };
            path: {
                /** @description The last part of a link. */
                file_id: components["parameters"]["file_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The image. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    etag: components["headers"]["etag"];
                    "cross-origin-resource-policy": components["headers"]["cross-origin-resource-policy"];
                    "access-control-allow-origin": components["headers"]["access-control-allow-origin"];
                    "accept-ranges": components["headers"]["accept-ranges"];
                    "content-disposition": components["headers"]["content-disposition"];
                    "content-range": components["headers"]["content-range"];
                    "content-security-policy": components["headers"]["content-security-policy"];
                    "x-content-type-options": components["headers"]["x-content-type-options"];
                    [name: string]: unknown;
                };
                content: {
                    "image/*": unknown;
                    "application/octet-stream": unknown;
                };
            };
            /** @description A part of the image. */
            206: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    etag: components["headers"]["etag"];
                    "cross-origin-resource-policy": components["headers"]["cross-origin-resource-policy"];
                    "access-control-allow-origin": components["headers"]["access-control-allow-origin"];
                    "accept-ranges": components["headers"]["accept-ranges"];
                    "content-disposition": components["headers"]["content-disposition"];
                    "content-range": components["headers"]["content-range"];
                    "content-security-policy": components["headers"]["content-security-policy"];
                    "x-content-type-options": components["headers"]["x-content-type-options"];
                    [name: string]: unknown;
                };
                content: {
                    "image/*": unknown;
                    "application/octet-stream": unknown;
                };
            };
            /** @description The client has the image. */
            304: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    etag: components["headers"]["etag"];
                    "cross-origin-resource-policy": components["headers"]["cross-origin-resource-policy"];
                    "access-control-allow-origin": components["headers"]["access-control-allow-origin"];
                    [name: string]: unknown;
                };
                content?: never;
            };
            404: components["responses"]["FileError"];
            405: components["responses"]["FileError"];
            410: components["responses"]["FileError"];
            416: components["responses"]["FileError"];
            500: components["responses"]["FileError"];
            503: components["responses"]["FileError"];
        };
    };
    readHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The state of the parts. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "ledger": "ok",
                     *       "store": "ok",
                     *       "channels": "ok"
                     *     }
                     */
                    "application/json": components["schemas"]["Health"];
                };
            };
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            503: components["responses"]["Error503"];
        };
    };
    readDescription: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An OpenAPI document. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "openapi": "3.1.0",
                     *       "paths": {}
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            500: components["responses"]["Error500"];
            503: components["responses"]["Error503"];
        };
    };
    createChatCompletion: {
        parameters: {
            query?: never;
            header?: {
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "seedream-4-5-251128",
                 *       "messages": [
                 *         {
                 *           "role": "user",
                 *           "content": "a red fox"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["ChatCompletionRequest"];
            };
        };
        responses: {
            /** @description The images, or with `stream: true` chunks with an image each. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    "x-accel-buffering": components["headers"]["x-accel-buffering"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "id": "chatcmpl-req_0123456789abcdef0123456789abcdef",
                     *       "object": "chat.completion",
                     *       "created": 1764403200,
                     *       "model": "seedream-4-5-251128",
                     *       "choices": [
                     *         {
                     *           "index": 0,
                     *           "message": {
                     *             "role": "assistant",
                     *             "content": "![image 1](https://example.com/fox.png)",
                     *             "images": [
                     *               {
                     *                 "type": "image_url",
                     *                 "index": 0,
                     *                 "image_url": {
                     *                   "url": "https://example.com/fox.png"
                     *                 }
                     *               }
                     *             ]
                     *           },
                     *           "finish_reason": "stop"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Error400"];
            401: components["responses"]["Error401"];
            403: components["responses"]["Error403"];
            404: components["responses"]["Error404"];
            405: components["responses"]["Error405"];
            408: components["responses"]["Error408"];
            409: components["responses"]["Error409"];
            413: components["responses"]["Error413"];
            415: components["responses"]["Error415"];
            422: components["responses"]["Error422"];
            429: components["responses"]["Error429"];
            500: components["responses"]["Error500"];
            502: components["responses"]["Error502"];
            503: components["responses"]["Error503"];
            504: components["responses"]["Error504"];
            default: components["responses"]["ProviderError"];
        };
    };
    generateContent: {
        parameters: {
            query?: never;
            header?: {
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path: {
                /** @description The name of a model. A slash in it may be encoded. */
                model: components["parameters"]["model"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "contents": [
                 *         {
                 *           "role": "user",
                 *           "parts": [
                 *             {
                 *               "text": "a red fox"
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["GenerateContentRequest"];
            };
        };
        responses: {
            /** @description One candidate for each image. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "candidates": [
                     *         {
                     *           "index": 0,
                     *           "content": {
                     *             "role": "model",
                     *             "parts": [
                     *               {
                     *                 "fileData": {
                     *                   "fileUri": "https://example.com/fox.png"
                     *                 }
                     *               }
                     *             ]
                     *           },
                     *           "finishReason": "STOP"
                     *         }
                     *       ],
                     *       "modelVersion": "seedream-4-5-251128",
                     *       "responseId": "req_0123456789abcdef0123456789abcdef"
                     *     }
                     */
                    "application/json": components["schemas"]["GenerateContentResponse"];
                };
            };
            400: components["responses"]["GeminiError"];
            401: components["responses"]["GeminiError"];
            403: components["responses"]["GeminiError"];
            404: components["responses"]["GeminiError"];
            405: components["responses"]["GeminiError"];
            408: components["responses"]["GeminiError"];
            409: components["responses"]["GeminiError"];
            413: components["responses"]["GeminiError"];
            415: components["responses"]["GeminiError"];
            422: components["responses"]["GeminiError"];
            429: components["responses"]["GeminiError"];
            500: components["responses"]["GeminiError"];
            502: components["responses"]["GeminiError"];
            503: components["responses"]["GeminiError"];
            504: components["responses"]["GeminiError"];
            default: components["responses"]["GeminiError"];
        };
    };
    streamGenerateContent: {
        parameters: {
            query: {
                /** @description `sse`: the only format of this stream. */
                alt: components["parameters"]["alt"];
            };
            header?: {
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path: {
                /** @description The name of a model. A slash in it may be encoded. */
                model: components["parameters"]["model"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "contents": [
                 *         {
                 *           "role": "user",
                 *           "parts": [
                 *             {
                 *               "text": "a red fox"
                 *             }
                 *           ]
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["GenerateContentRequest"];
            };
        };
        responses: {
            /** @description The images. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    "x-accel-buffering": components["headers"]["x-accel-buffering"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["GeminiError"];
            401: components["responses"]["GeminiError"];
            403: components["responses"]["GeminiError"];
            404: components["responses"]["GeminiError"];
            405: components["responses"]["GeminiError"];
            408: components["responses"]["GeminiError"];
            409: components["responses"]["GeminiError"];
            413: components["responses"]["GeminiError"];
            415: components["responses"]["GeminiError"];
            422: components["responses"]["GeminiError"];
            429: components["responses"]["GeminiError"];
            500: components["responses"]["GeminiError"];
            502: components["responses"]["GeminiError"];
            503: components["responses"]["GeminiError"];
            504: components["responses"]["GeminiError"];
            default: components["responses"]["GeminiError"];
        };
    };
    createDashScopeTask: {
        parameters: {
            query?: never;
            header: {
                /** @description `enable`: DashScope's SDKs send it for tasks. */
                "x-dashscope-async": components["parameters"]["x-dashscope-async"];
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "image-max",
                 *       "input": {
                 *         "messages": [
                 *           {
                 *             "role": "user",
                 *             "content": [
                 *               {
                 *                 "text": "a red fox"
                 *               }
                 *             ]
                 *           }
                 *         ]
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["DashScopeTaskRequest"];
            };
        };
        responses: {
            /** @description The task. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "request_id": "req_0123456789abcdef0123456789abcdef",
                     *       "output": {
                     *         "task_id": "task_0123456789abcdef0123456789abcdef",
                     *         "task_status": "PENDING"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DashScopeTask"];
                };
            };
            400: components["responses"]["DashScopeError"];
            401: components["responses"]["DashScopeError"];
            403: components["responses"]["DashScopeError"];
            404: components["responses"]["DashScopeError"];
            405: components["responses"]["DashScopeError"];
            408: components["responses"]["DashScopeError"];
            409: components["responses"]["DashScopeError"];
            413: components["responses"]["DashScopeError"];
            415: components["responses"]["DashScopeError"];
            422: components["responses"]["DashScopeError"];
            429: components["responses"]["DashScopeError"];
            500: components["responses"]["DashScopeError"];
            502: components["responses"]["DashScopeError"];
            503: components["responses"]["DashScopeError"];
            504: components["responses"]["DashScopeError"];
            default: components["responses"]["DashScopeError"];
        };
    };
    createTextToImageTask: {
        parameters: {
            query?: never;
            header: {
                /** @description `enable`: DashScope's SDKs send it for tasks. */
                "x-dashscope-async": components["parameters"]["x-dashscope-async"];
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "image-max",
                 *       "input": {
                 *         "messages": [
                 *           {
                 *             "role": "user",
                 *             "content": [
                 *               {
                 *                 "text": "a red fox"
                 *               }
                 *             ]
                 *           }
                 *         ]
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["DashScopeTaskRequest"];
            };
        };
        responses: {
            /** @description The task. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "request_id": "req_0123456789abcdef0123456789abcdef",
                     *       "output": {
                     *         "task_id": "task_0123456789abcdef0123456789abcdef",
                     *         "task_status": "PENDING"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DashScopeTask"];
                };
            };
            400: components["responses"]["DashScopeError"];
            401: components["responses"]["DashScopeError"];
            403: components["responses"]["DashScopeError"];
            404: components["responses"]["DashScopeError"];
            405: components["responses"]["DashScopeError"];
            408: components["responses"]["DashScopeError"];
            409: components["responses"]["DashScopeError"];
            413: components["responses"]["DashScopeError"];
            415: components["responses"]["DashScopeError"];
            422: components["responses"]["DashScopeError"];
            429: components["responses"]["DashScopeError"];
            500: components["responses"]["DashScopeError"];
            502: components["responses"]["DashScopeError"];
            503: components["responses"]["DashScopeError"];
            504: components["responses"]["DashScopeError"];
            default: components["responses"]["DashScopeError"];
        };
    };
    createImageToImageTask: {
        parameters: {
            query?: never;
            header: {
                /** @description `enable`: DashScope's SDKs send it for tasks. */
                "x-dashscope-async": components["parameters"]["x-dashscope-async"];
                /** @description Repeats with the same key make no second image for a day. Another body with the same key is a 422. */
                "idempotency-key"?: components["parameters"]["idempotency-key"];
                /** @description Up to 8 tags for the usage record, such as `team=design, job=42`. */
                "x-calotype-tags"?: components["parameters"]["x-calotype-tags"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * For example: {
                 *       "model": "image-max",
                 *       "input": {
                 *         "messages": [
                 *           {
                 *             "role": "user",
                 *             "content": [
                 *               {
                 *                 "text": "a red fox"
                 *               }
                 *             ]
                 *           }
                 *         ]
                 *       }
                 *     }
                 */
                "application/json": components["schemas"]["DashScopeTaskRequest"];
            };
        };
        responses: {
            /** @description The task. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    "x-calotype-ignored": components["headers"]["x-calotype-ignored"];
                    "x-calotype-size": components["headers"]["x-calotype-size"];
                    "x-calotype-charge": components["headers"]["x-calotype-charge"];
                    "x-calotype-original-request-id": components["headers"]["x-calotype-original-request-id"];
                    "ratelimit-policy": components["headers"]["ratelimit-policy"];
                    ratelimit: components["headers"]["ratelimit"];
                    "x-ratelimit-limit-requests": components["headers"]["x-ratelimit-limit-requests"];
                    "x-ratelimit-remaining-requests": components["headers"]["x-ratelimit-remaining-requests"];
                    "x-ratelimit-reset-requests": components["headers"]["x-ratelimit-reset-requests"];
                    "x-ratelimit-limit-images": components["headers"]["x-ratelimit-limit-images"];
                    "x-ratelimit-remaining-images": components["headers"]["x-ratelimit-remaining-images"];
                    "x-ratelimit-reset-images": components["headers"]["x-ratelimit-reset-images"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "request_id": "req_0123456789abcdef0123456789abcdef",
                     *       "output": {
                     *         "task_id": "task_0123456789abcdef0123456789abcdef",
                     *         "task_status": "PENDING"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DashScopeTask"];
                };
            };
            400: components["responses"]["DashScopeError"];
            401: components["responses"]["DashScopeError"];
            403: components["responses"]["DashScopeError"];
            404: components["responses"]["DashScopeError"];
            405: components["responses"]["DashScopeError"];
            408: components["responses"]["DashScopeError"];
            409: components["responses"]["DashScopeError"];
            413: components["responses"]["DashScopeError"];
            415: components["responses"]["DashScopeError"];
            422: components["responses"]["DashScopeError"];
            429: components["responses"]["DashScopeError"];
            500: components["responses"]["DashScopeError"];
            502: components["responses"]["DashScopeError"];
            503: components["responses"]["DashScopeError"];
            504: components["responses"]["DashScopeError"];
            default: components["responses"]["DashScopeError"];
        };
    };
    readDashScopeTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a task of the caller. */
                task_id: components["parameters"]["task_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The task. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "request_id": "req_0123456789abcdef0123456789abcdef",
                     *       "output": {
                     *         "task_id": "task_0123456789abcdef0123456789abcdef",
                     *         "task_status": "PENDING"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DashScopeTask"];
                };
            };
            400: components["responses"]["DashScopeError"];
            401: components["responses"]["DashScopeError"];
            403: components["responses"]["DashScopeError"];
            404: components["responses"]["DashScopeError"];
            405: components["responses"]["DashScopeError"];
            408: components["responses"]["DashScopeError"];
            409: components["responses"]["DashScopeError"];
            413: components["responses"]["DashScopeError"];
            415: components["responses"]["DashScopeError"];
            422: components["responses"]["DashScopeError"];
            429: components["responses"]["DashScopeError"];
            500: components["responses"]["DashScopeError"];
            502: components["responses"]["DashScopeError"];
            503: components["responses"]["DashScopeError"];
            504: components["responses"]["DashScopeError"];
            default: components["responses"]["DashScopeError"];
        };
    };
    cancelDashScopeTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a task of the caller. */
                task_id: components["parameters"]["task_id"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is cancelled. */
            200: {
                headers: {
                    "x-request-id": components["headers"]["x-request-id"];
                    "cache-control": components["headers"]["cache-control"];
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * For example: {
                     *       "request_id": "req_0123456789abcdef0123456789abcdef",
                     *       "output": {
                     *         "task_id": "task_0123456789abcdef0123456789abcdef",
                     *         "task_status": "PENDING"
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["DashScopeTask"];
                };
            };
            400: components["responses"]["DashScopeError"];
            401: components["responses"]["DashScopeError"];
            403: components["responses"]["DashScopeError"];
            404: components["responses"]["DashScopeError"];
            405: components["responses"]["DashScopeError"];
            408: components["responses"]["DashScopeError"];
            409: components["responses"]["DashScopeError"];
            413: components["responses"]["DashScopeError"];
            415: components["responses"]["DashScopeError"];
            422: components["responses"]["DashScopeError"];
            429: components["responses"]["DashScopeError"];
            500: components["responses"]["DashScopeError"];
            502: components["responses"]["DashScopeError"];
            503: components["responses"]["DashScopeError"];
            504: components["responses"]["DashScopeError"];
            default: components["responses"]["DashScopeError"];
        };
    };
}
